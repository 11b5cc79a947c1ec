/**
 * The wider prefix that is announced for a ban: of a divert in place of the ban's own, as the internet takes no longer ones,
 * of a blackhole beside it, for the neighbors that take no longer ones. Traffic to all addresses in it moves. Pure.
 */
import { addressFromBytes, type IpAddress } from "../net/address.ts";
import { enclosingPrefix, mappedLength, type Prefix } from "../net/prefix.ts";
import type { PrefixTable } from "../net/prefix-table.ts";
import type { NetworkLookup } from "../traffic/network-lookup.ts";
import type { OwnInfrastructure } from "../traffic/own-infrastructure.ts";

export interface EnclosingLength {
  /** The length that is announced. */
  readonly length: number;
  /** Prefixes of this length and shorter ones are announced as they are. At least `length`. */
  readonly upTo: number;
}

/** By address family; absent: prefixes are announced as they are. */
export interface EnclosingLengths {
  readonly 4?: EnclosingLength;
  readonly 6?: EnclosingLength;
}

/** null: the prefix is announced as it is. */
export function enclosingOf(prefix: Prefix, lengths: EnclosingLengths | undefined): Prefix | null {
  const enclosing = lengths?.[prefix.family];
  if (enclosing === undefined || prefix.length <= enclosing.upTo) return null;
  return enclosingPrefix(prefix.address, enclosing.length);
}

/** Why an enclosing prefix is not announced: begins with the prefix. */
export type EnclosingRefusal = `${string} is not announced: ${string}`;

/** The ban for which a wider prefix is to be announced: of which addresses, and whether it is virtual. */
export interface EnclosedBan {
  readonly prefix: Prefix;
  readonly dryRun: boolean;
}

export function notAnnounced(prefix: Prefix, why: string): EnclosingRefusal {
  return `${prefix.text} is not announced: ${why}`;
}

export const OVER_FRACTION = "with it more addresses would be banned than ban.max_banned_fraction allows";

/** The traffic that moves with that of a ban for which a wider prefix is announced. */
export interface MovedAlong {
  readonly prefix: Prefix;
  /** Names of those that have addresses in it. */
  readonly hostgroups: readonly string[];
  /** With traffic in the last minute's sampled headers, the busiest of them by name; null: none are kept. */
  readonly hosts: {
    readonly count: number;
    readonly busiest: readonly { readonly target: IpAddress; readonly mbps: number }[];
  } | null;
}

/** The configuration as far as enclosing prefixes depend on it. */
interface EnclosingSections {
  readonly networks: readonly Prefix[];
  readonly lookup: NetworkLookup;
  readonly whitelist: PrefixTable;
  readonly own: OwnInfrastructure;
}

/** Cached answers: each costs a search through the whitelist. */
const ANSWERS_KEPT = 4096;

/** Which enclosing prefixes may be announced: those within one network, without whitelisted addresses and those that the service needs. */
export class EnclosingBounds {
  readonly #config: EnclosingSections;
  /** By the text of the prefix. */
  readonly #answers = new Map<string, EnclosingRefusal | null>();
  readonly #groups = new Map<string, readonly number[]>();

  constructor(config: EnclosingSections) {
    this.#config = config;
  }

  /** null: it may be announced. */
  refusalOf(prefix: Prefix): EnclosingRefusal | null {
    const known = this.#answers.get(prefix.text);
    if (known !== undefined) return known;
    const why = this.#judge(prefix);
    const answer = why === null ? null : notAnnounced(prefix, why);
    if (this.#answers.size >= ANSWERS_KEPT) this.#answers.clear();
    this.#answers.set(prefix.text, answer);
    return answer;
  }

  /** Indices of the hostgroups that have addresses in it. */
  groupsIn(prefix: Prefix): readonly number[] {
    const known = this.#groups.get(prefix.text);
    if (known !== undefined) return known;
    const groups = this.#config.lookup.groupsIn(prefix);
    if (this.#groups.size >= ANSWERS_KEPT) this.#groups.clear();
    this.#groups.set(prefix.text, groups);
    return groups;
  }

  #judge(prefix: Prefix): string | null {
    const { networks, lookup, whitelist, own } = this.#config;
    const network = networks[lookup.network(prefix.address)];
    if (network === undefined || network.length > prefix.length) return "it lies in none of networks as a whole";
    const spared = overlapping(whitelist, prefix);
    if (spared !== null) return `${spared} of protected_whitelist would move with it`;
    return own.refusalIn(prefix);
  }
}

/** The text of an entry that contains the prefix or a part of it; null: none does. */
export function overlapping(table: PrefixTable, prefix: Prefix): string | null {
  let row = table.find(prefix.address);
  if (row < 0) {
    table.someIn(prefix, (each) => {
      row = each;
      return true;
    });
  }
  if (row < 0) return null;
  const { addresses, lengths } = table.packed;
  const address = addressFromBytes(addresses.slice(16 * row, 16 * row + 16));
  return `${address}/${(lengths[row] ?? 0) - (mappedLength(prefix) - prefix.length)}`;
}
