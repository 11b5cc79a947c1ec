/**
 * The bans for which a wider prefix is announced, by that prefix. They share its route: it stays until the last of them
 * ends, and its addresses count once, where their traffic is dropped.
 */
import { addressesIn, enclosingPrefix, type Prefix } from "../net/prefix.ts";
import { type Ban, isReal } from "./ban.ts";
import { BannedBlocks } from "./banned-blocks.ts";
import { enclosingIn } from "./measure.ts";

const NONE: ReadonlySet<string> = new Set();

interface Sharing {
  /** By their own prefix. */
  readonly bans: Map<string, Ban>;
  /** Number of those that drop the traffic. */
  dropping: number;
}

export class EnclosedBans {
  readonly #byPrefix = new Map<string, Sharing>();
  /** The dropped prefixes. */
  readonly #dropped = new BannedBlocks();
  /** How many of them have a length. */
  readonly #lengths = { 4: new Map<number, number>(), 6: new Map<number, number>() };

  /** The wider prefix that would be dropped for this ban, and for none before it; null: there is none. */
  newlyDropped(ban: Ban): Prefix | null {
    const wider = isDropping(ban) ? enclosingIn(ban.measure, ban.prefix) : null;
    return wider === null || this.isDropped(wider) ? null : wider;
  }

  enter(ban: Ban): void {
    const wider = enclosingIn(ban.measure, ban.prefix);
    if (wider === null) return;
    const sharing = this.#byPrefix.get(wider.text) ?? { bans: new Map<string, Ban>(), dropping: 0 };
    sharing.bans.set(ban.prefix.text, ban);
    this.#byPrefix.set(wider.text, sharing);
    if (!isDropping(ban) || ++sharing.dropping > 1) return;
    this.#dropsLength(wider, 1);
    this.#dropped.add(wider, addressesIn(wider));
  }

  /** Returns the wider prefix that is not dropped any more; null: none, or it is for others. */
  leave(ban: Ban): Prefix | null {
    const wider = enclosingIn(ban.measure, ban.prefix);
    const sharing = wider === null ? undefined : this.#byPrefix.get(wider.text);
    if (wider === null || sharing === undefined) return null;
    sharing.bans.delete(ban.prefix.text);
    if (sharing.bans.size === 0) this.#byPrefix.delete(wider.text);
    if (!isDropping(ban) || --sharing.dropping > 0) return null;
    this.#dropsLength(wider, -1);
    this.#dropped.remove(wider);
    return wider;
  }

  #dropsLength({ family, length }: Prefix, by: 1 | -1): void {
    const dropped = (this.#lengths[family].get(length) ?? 0) + by;
    if (dropped === 0) this.#lengths[family].delete(length);
    else this.#lengths[family].set(length, dropped);
  }

  /** Whether the prefix, or a wider one with its addresses, is dropped. @param without the texts of those that do not count. */
  isWithinDropped({ address, family, length }: Prefix, without: ReadonlySet<string> = NONE): boolean {
    for (const wider of this.#lengths[family].keys()) {
      if (wider > length) continue;
      const dropped = enclosingPrefix(address, wider);
      if (this.isDropped(dropped) && !without.has(dropped.text)) return true;
    }
    return false;
  }

  /** Whether a dropped prefix with its addresses is wider than this one. */
  isNested(prefix: Prefix, without: ReadonlySet<string> = NONE): boolean {
    return this.isWithinDropped(prefix, new Set([...without, prefix.text]));
  }

  /** The addresses of dropped prefixes within this one, each once. */
  addressesDroppedIn(wider: Prefix, without: ReadonlySet<string> = NONE): number {
    const but = new Set([...without, wider.text]);
    return this.#dropped.addressesIn(wider, (own) => !but.has(own.text) && !this.isNested(own, but));
  }

  /** Whether the traffic of the prefix is dropped for the sake of a ban in it. */
  isDropped(wider: Prefix): boolean {
    return (this.#byPrefix.get(wider.text)?.dropping ?? 0) > 0;
  }

  /** The wider prefixes that would not be dropped any more if these bans ended. */
  droppedFor(bans: readonly Ban[]): Prefix[] {
    const ending = new Map<string, number>();
    return bans.flatMap((ban) => {
      const wider = isDropping(ban) ? enclosingIn(ban.measure, ban.prefix) : null;
      if (wider === null) return [];
      const count = (ending.get(wider.text) ?? 0) + 1;
      ending.set(wider.text, count);
      return count === this.#byPrefix.get(wider.text)?.dropping ? [wider] : [];
    });
  }

  /** The oldest ban but that of `own` whose traffic is diverted with that of the prefix; null: there is none. */
  divertingBan(wider: Prefix, own: Prefix): Ban | null {
    return this.#oldest(wider, (ban) => ban.measure.kind === "divert" && isReal(ban) && ban.prefix.text !== own.text);
  }

  /** The bans for whose sake the traffic of the prefix is dropped, the oldest first. */
  droppingBans(wider: Prefix): Ban[] {
    const bans = [...(this.#byPrefix.get(wider.text)?.bans.values() ?? [])];
    return bans.filter((ban) => isDropping(ban) && isReal(ban)).sort((a, b) => (isOlder(a, b) ? -1 : 1));
  }

  /** The scrub node of the oldest ban that diverts the prefix; null: there is none. */
  nodeOf(wider: Prefix): string | null {
    const oldest = this.#oldest(wider, ({ measure }) => measure.kind === "divert" && measure.node !== null);
    return oldest?.measure.kind === "divert" ? oldest.measure.node : null;
  }

  #oldest(wider: Prefix, isMeant: (ban: Ban) => boolean): Ban | null {
    let oldest: Ban | null = null;
    for (const ban of this.#byPrefix.get(wider.text)?.bans.values() ?? []) {
      if (isMeant(ban) && (oldest === null || isOlder(ban, oldest))) oldest = ban;
    }
    return oldest;
  }
}

function isDropping(ban: Ban): boolean {
  return ban.measure.kind === "blackhole" && ban.isVirtualOrder !== true;
}

/** If two began at once, the one with the smaller address is older, whatever their order in a table. */
export function isOlder(ban: Ban, than: Ban): boolean {
  if (ban.startedAt !== than.startedAt) return ban.startedAt < than.startedAt;
  return ban.prefix.text < than.prefix.text;
}
