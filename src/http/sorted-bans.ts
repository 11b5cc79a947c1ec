/** The order in which bans are listed. */
import type { Ban } from "../mitigation/ban.ts";
import { addressOrder } from "../net/address.ts";
import { sortedInSteps } from "../system/sorted-in-steps.ts";

interface SortedBan {
  readonly ban: Ban;
  /** Computed once per ban, not per comparison. */
  readonly key: string;
}

/** By address, IPv4 first, numerically; for one address, the newest ban first. Yields between its steps. */
export function* sortedBans(bans: readonly Ban[]): Generator<undefined, readonly SortedBan[]> {
  const keyed: SortedBan[] = [];
  for (const ban of bans) {
    keyed.push({ ban, key: addressOrder(ban.target) });
    yield;
  }
  return yield* sortedInSteps(keyed, (a, b) =>
    a.key < b.key ? -1 : a.key > b.key ? 1 : b.ban.startedAt - a.ban.startedAt,
  );
}
