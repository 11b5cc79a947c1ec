/** A ban as an operator orders it: the prefix, and terms in place of those of the configuration. Pure. */

import type { IpAddress } from "../../net/address.ts";
import { type Community, communityText } from "../../net/community.ts";
import { hostPrefix, type Prefix } from "../../net/prefix.ts";
import type { Method } from "../escalation.ts";
import { type Match, matchText } from "../rules/match.ts";

/** Terms that are ordered in place of the hostgroup's; absent: as those are. Kept with the ban. */
export interface OrderedTerms {
  readonly method?: Method;
  /** Without destinations: these are the ban's prefix. */
  readonly rules?: readonly Match[];
  /** The rate that may pass each rule; 0: nothing. */
  readonly bytesPerSecond?: number;
  readonly communities?: readonly Community[];
  /** Addresses or names of the neighbors that get its routes; absent: all of them. */
  readonly neighbors?: readonly string[];
}

export interface BanOrder {
  readonly prefix: Prefix;
  readonly terms: OrderedTerms;
  /** From now on; null: as the hostgroup says, and a ban in force is never shortened. */
  readonly ttlSeconds: number | null;
  /** "": none is given. */
  readonly reason: string;
  /** Recorded, never announced, whatever the configuration says. */
  readonly isDryRun: boolean;
}

/** Carried out together. */
export interface ManyOrders {
  readonly orders: readonly BanOrder[];
  /** The subjects of the bans that end. */
  readonly ended: readonly (IpAddress | Prefix)[];
}

/** The order of a ban as the configuration says. */
export function plainOrder(target: IpAddress): BanOrder {
  return { prefix: hostPrefix(target), terms: {}, ttlSeconds: null, reason: "", isDryRun: false };
}

export function hasTerms(terms: OrderedTerms): boolean {
  return Object.keys(terms).length > 0;
}

/** For records: `flowspec proto udp src-port 19 at 50 Mbit/s to 192.0.2.1 for 3600 s in dry run`. */
export function orderText({ terms, ttlSeconds, isDryRun }: Omit<BanOrder, "prefix">): string {
  const { method, rules = [], bytesPerSecond, communities = [], neighbors = [] } = terms;
  const parts = [
    method ?? "",
    rules.map(matchText).join("; "),
    bytesPerSecond === undefined ? "" : `at ${(bytesPerSecond * 8) / 1e6} Mbit/s`,
    communities.length === 0 ? "" : `community ${communities.map(communityText).join(" ")}`,
    neighbors.length === 0 ? "" : `to ${neighbors.join(",")}`,
    ttlSeconds === null ? "" : `for ${ttlSeconds} s`,
    isDryRun ? "in dry run" : "",
  ];
  const text = parts.filter((part) => part !== "").join(" ");
  return text.length <= RECORDED_CHARACTERS_MAX ? text : `${text.slice(0, RECORDED_CHARACTERS_MAX).toWellFormed()}…`;
}

const RECORDED_CHARACTERS_MAX = 500;
