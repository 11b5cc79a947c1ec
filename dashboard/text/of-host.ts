/** The bans and attacks of one host, and those of prefixes around it. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { isWithin } from "./format/subject-order.ts";

const ONE_ADDRESS = /\/(32|128)$/;

/** The ban of the host alone that is in force; undefined: it has none. */
export function ownBanOf(host: string, bans: readonly BanWire[]): BanWire | undefined {
  return bans.find(({ target, prefix, state }) => state === "active" && target === host && ONE_ADDRESS.test(prefix));
}

/** The newest first. Lists may have ten thousand bans of single addresses, which are compared as they are. */
export function bansOn(host: string, bans: readonly BanWire[]): BanWire[] {
  const concerns = ({ target, prefix }: BanWire) =>
    ONE_ADDRESS.test(prefix) ? target === host : isWithin(host, prefix);
  return bans.filter(concerns).sort((a, b) => (a.started_at < b.started_at ? 1 : -1));
}

/** In their order. */
export function attacksOn(host: string, attacks: readonly AttackWire[]): AttackWire[] {
  return attacks.filter(({ target, prefix }) =>
    target === undefined ? prefix !== undefined && isWithin(host, prefix) : target === host,
  );
}
