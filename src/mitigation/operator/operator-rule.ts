/** A rule of the operator for the data plane of this machine. */
import type { Prefix } from "../../net/prefix.ts";
import { type Match, matchText } from "../rules/match.ts";

export interface OperatorRule {
  readonly name: string;
  readonly action: "drop" | "pass" | "limit";
  /** `attacked`: only for addresses with a ban in force. */
  readonly when: "always" | "attacked";
  /** The rule's effect is only counted. */
  readonly isDryRun: boolean;
  /** Empty: all networks. */
  readonly destinations: readonly Prefix[];
  /** Without a destination. */
  readonly match: Match;
  /** The rates of the action `limit`; otherwise null. */
  readonly limit: RateLimit | null;
}

export interface RateLimit {
  /** 0: any; one of the two is not. */
  readonly packetsPerSecond: number;
  readonly bytesPerSecond: number;
  /** Each source has its own budget; else all packets that match have one. */
  readonly isPerSource: boolean;
  /** How much of an address is a source. */
  readonly ipv4Length: number;
  readonly ipv6Length: number;
}

/** The match of a rule may name 64 destinations; a record has this much of it. */
const RECORDED_CHARACTERS_MAX = 500;

/** The rule as a record keeps it: `limit each source to 20 packets/s proto tcp dst-port 443 while attacked`. */
export function orderedRuleText(rule: OperatorRule): string {
  const { action, when, isDryRun, limit } = rule;
  const does = limit === null ? action : limitText(limit);
  const match = operatorRuleText(rule);
  const short =
    match.length <= RECORDED_CHARACTERS_MAX ? match : `${match.slice(0, RECORDED_CHARACTERS_MAX).toWellFormed()}…`;
  return `${does} ${short}${when === "attacked" ? " while attacked" : ""}${isDryRun ? ", only counted," : ""}`;
}

function limitText({ packetsPerSecond, bytesPerSecond, isPerSource }: RateLimit): string {
  const rates = [
    packetsPerSecond === 0 ? "" : `${packetsPerSecond} packets/s`,
    bytesPerSecond === 0 ? "" : `${(bytesPerSecond * 8) / 1e6} Mbit/s`,
  ].filter((text) => text !== "");
  return `limit${isPerSource ? " each source" : ""} to ${rates.join(" and ")}`;
}

/** `dst 192.0.2.0/24 proto udp src-port 19 length 100-200`. */
export function operatorRuleText({ destinations, match }: OperatorRule): string {
  const parts = [
    destinations.length === 0 ? "" : `dst ${destinations.map(({ text }) => text).join(",")}`,
    matchText(match) === "any" ? "" : matchText(match),
  ];
  return parts.filter((part) => part !== "").join(" ") || "any";
}
