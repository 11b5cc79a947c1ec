/**
 * The bans for which a wider prefix is announced, by that prefix. They share its route: it stays until the last of them
 * ends, and its addresses count once, where their traffic is dropped.
 */
import { addressesIn, type Prefix } from "../net/prefix.ts";
import type { Ban } from "./ban.ts";
import { enclosingIn } from "./measure.ts";

interface Sharing {
  /** By their own prefix. */
  readonly bans: Map<string, Ban>;
  /** Number of those that drop the traffic. */
  dropping: number;
}

export class EnclosedBans {
  readonly #byPrefix = new Map<string, Sharing>();

  /** Takes a ban in or out. Returns by how much the number of addresses changes whose traffic is dropped. */
  count(ban: Ban, by: 1 | -1): number {
    const wider = enclosingIn(ban.measure, ban.prefix);
    if (wider === null) return 0;
    const sharing = this.#byPrefix.get(wider.text) ?? { bans: new Map<string, Ban>(), dropping: 0 };
    const before = sharing.dropping;
    if (by === 1) sharing.bans.set(ban.prefix.text, ban);
    else sharing.bans.delete(ban.prefix.text);
    if (isDropping(ban)) sharing.dropping += by;
    if (sharing.bans.size === 0) this.#byPrefix.delete(wider.text);
    else this.#byPrefix.set(wider.text, sharing);
    return (before === 0) === (sharing.dropping === 0) ? 0 : by * addressesIn(wider);
  }

  /** Whether the traffic of the prefix is dropped for the sake of a ban in it. */
  isDropped(wider: Prefix): boolean {
    return (this.#byPrefix.get(wider.text)?.dropping ?? 0) > 0;
  }

  /** Number of addresses in the wider prefixes that would not be dropped any more if these bans ended, all of one family. */
  droppedFor(bans: readonly Ban[]): number {
    const ending = new Map<string, number>();
    let addresses = 0;
    for (const ban of bans) {
      const wider = isDropping(ban) ? enclosingIn(ban.measure, ban.prefix) : null;
      if (wider === null) continue;
      const count = (ending.get(wider.text) ?? 0) + 1;
      ending.set(wider.text, count);
      if (count === this.#byPrefix.get(wider.text)?.dropping) addresses += addressesIn(wider);
    }
    return addresses;
  }

  /** The scrub node of the oldest ban that diverts the prefix; null: there is none. */
  nodeOf(wider: Prefix): string | null {
    let oldest: Ban | null = null;
    for (const ban of this.#byPrefix.get(wider.text)?.bans.values() ?? []) {
      if (ban.measure.kind !== "divert" || ban.measure.node === null) continue;
      if (oldest === null || isOlder(ban, oldest)) oldest = ban;
    }
    return oldest?.measure.kind === "divert" ? oldest.measure.node : null;
  }
}

function isDropping(ban: Ban): boolean {
  return ban.measure.kind === "blackhole" && ban.isVirtualOrder !== true;
}

/** Whether a wider prefix is dropped for the ban: its own addresses are among those of that. */
export function isDroppedAround(ban: Ban): boolean {
  return isDropping(ban) && enclosingIn(ban.measure, ban.prefix) !== null;
}

/** Of two that began at once the one with the smaller address, whatever their order in a table. */
export function isOlder(ban: Ban, than: Ban): boolean {
  if (ban.startedAt !== than.startedAt) return ban.startedAt < than.startedAt;
  return ban.prefix.text < than.prefix.text;
}
