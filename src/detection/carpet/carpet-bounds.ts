/**
 * Which prefixes may be banned in a carpet attack: only those in one network and hostgroup, without whitelisted
 * addresses and those that the service needs, and not wider than configured. So every single address of them could be banned too.
 */
import type { Prefix } from "../../net/prefix.ts";
import type { PrefixTable } from "../../net/prefix-table.ts";
import type { NetworkLookup } from "../../traffic/network-lookup.ts";
import type { OwnInfrastructure, OwnRefusal } from "../../traffic/own-infrastructure.ts";
import type { CarpetConfig } from "./carpet-config.ts";

/** The configuration as far as these bounds depend on it. */
export interface BoundsSections {
  readonly carpet: Pick<CarpetConfig, "widestV4" | "widestV6"> | null;
  readonly networks: readonly Prefix[];
  readonly lookup: NetworkLookup;
  readonly whitelist: PrefixTable;
  readonly own: OwnInfrastructure;
}

export type PrefixRefusal =
  | OwnRefusal
  | "whitelisted"
  | "outside configured networks"
  | "prefix spans hostgroups"
  | "prefix wider than carpet allows";

/** Cached answers: each costs a search through the whitelist and the hostgroups. */
const ANSWERS_KEPT = 4096;

export class CarpetBounds {
  readonly #config: BoundsSections;
  /** By the text of the prefix. */
  readonly #answers = new Map<string, PrefixRefusal | null>();

  constructor(config: BoundsSections) {
    this.#config = config;
  }

  /** null: it may be banned. */
  refusalOf(prefix: Prefix): PrefixRefusal | null {
    const known = this.#answers.get(prefix.text);
    if (known !== undefined) return known;
    const answer = this.#judge(prefix);
    if (this.#answers.size >= ANSWERS_KEPT) this.#answers.clear();
    this.#answers.set(prefix.text, answer);
    return answer;
  }

  /** Checks in the same order as for a single address. */
  #judge(prefix: Prefix): PrefixRefusal | null {
    const { carpet, networks, lookup, whitelist, own } = this.#config;
    if (whitelist.overlaps(prefix)) return "whitelisted";
    const network = networks[lookup.network(prefix.address)];
    if (network === undefined || network.length > prefix.length) return "outside configured networks";
    const ownRefusal = own.refusalIn(prefix);
    if (ownRefusal !== null) return ownRefusal;
    if (!lookup.isOfOneGroup(prefix)) return "prefix spans hostgroups";
    const widest = (prefix.family === 4 ? carpet?.widestV4 : carpet?.widestV6) ?? 0;
    return prefix.length < widest ? "prefix wider than carpet allows" : null;
  }
}
