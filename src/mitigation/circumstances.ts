/** The configuration and the situation that a ban is planned in, as values. */
import type { Attack } from "../detection/attack/attack.ts";
import type { SampledPacket } from "../detection/attack/sample.ts";
import type { CountedAttack } from "../detection/attack/sampled-attack.ts";
import type { TrafficProfile } from "../detection/attack/traffic-profile.ts";
import type { IpAddress } from "../net/address.ts";
import type { Community } from "../net/community.ts";
import type { Prefix } from "../net/prefix.ts";
import type { NoTarget } from "./ban.ts";
import type { DiversionSource } from "./diversion.ts";
import type { EnclosedBan, EnclosingRefusal } from "./enclosing.ts";
import type { Method } from "./escalation.ts";
import type { ForeignBans } from "./foreign-bans.ts";
import type { FoundRules, NeighborRules, NodeRules } from "./measure.ts";
import type { GroupMitigation } from "./mitigation-config.ts";
import type { Match } from "./rules/match.ts";
import type { Rule } from "./rules/rule.ts";
import type { RungState } from "./rung-clock.ts";

/** The configuration for one prefix. */
export interface BanTerms extends GroupMitigation {
  readonly group: string;
  /** The extras that an operator ordered for the prefix beside its method and rate; absent: none. */
  readonly ordered?: OrderedExtras;
}

interface OrderedExtras {
  /** Empty: rules are found, as without an order. */
  readonly rules: readonly Match[];
  /** The communities of FlowSpec routes; null: none. */
  readonly communities: readonly Community[] | null;
  /** Names or addresses of the neighbors that get the routes; null: all of them. */
  readonly neighbors: readonly string[] | null;
}

/** An attack with the packets that its metrics count, of the attack and of users. */
export interface ObservedAttack {
  readonly attack: CountedAttack;
  readonly packets: readonly SampledPacket[];
  /** The host's traffic before the attack; null: not known. */
  readonly profile: TrafficProfile | null;
}

/** The input of a search for rules. */
export interface RuleRequest {
  readonly prefix: Prefix;
  readonly attacks: readonly ObservedAttack[];
  readonly flowspec: BanTerms["flowspec"];
  readonly present: readonly Rule[];
}

export interface FoundRequest {
  readonly request: RuleRequest;
  readonly found: FoundRules;
}

/**
 * Makes the rules that match the attacks on a prefix; without an attack, all of its traffic. `present`: the rules in
 * force, which are returned if they are good enough. null: they are looked for, and given to BanEngine.rulesFound().
 */
export type RuleMaker = (
  prefix: Prefix,
  attacks: readonly ObservedAttack[],
  flowspec: BanTerms["flowspec"],
  present: readonly Rule[],
) => FoundRules | null;

/**
 * The change since the rules were made: nothing (`same`), packets of the same kind of attack (`newer`), or the attack
 * was classified again from enough packets (`reclassified`).
 */
export type Evidence = "same" | "newer" | "reclassified";

export interface Circumstances {
  /** The attacks that keep the ban in force. */
  readonly attacks: readonly Attack[];
  /** Why neighbors do not have the current routes; null: they have them, or it is not known. */
  readonly refusal: string | null;
  /** Whether a method that was refused, and replaced by the fallback, may be tried again. */
  readonly isTakenAgain: (method: Method) => boolean;
  readonly evidence: Evidence;
  /** The state of the ban's rung. */
  readonly rung: RungState;
  /** null: no packets of the attack are kept. */
  readonly observed: (attack: Attack) => ObservedAttack | null;
  readonly makeRules: RuleMaker;
  /** Absent: there is one brain. */
  readonly foreign?: ForeignBans;
  /** null: no nodes are configured. */
  readonly divertTo: (request: DivertRequest) => NodeTarget | null;
  /** The rules for nodes that do not support all rules of a diverted ban; `present` itself if nothing changes. */
  readonly nodeRules: (request: RulesForReaders) => readonly NodeRules[];
  /** The same of neighbors, for a ban with FlowSpec. */
  readonly neighborRules: (request: RulesForReaders<NeighborRules>) => RulesAtNeighbors;
  /** How long rules wait for the first classification of an attack. */
  readonly evidenceWaitMs: number;
  readonly enclosing: EnclosingPrefixes;
  readonly diversions: Pick<DiversionSource, "faultOf" | "isLost">;
  /** Whether a hook that diverts prefixes is configured. */
  readonly isHooked: boolean;
}

/** The say of other bans and of the configuration about a prefix that is to be announced for narrower ones. */
export interface EnclosingPrefixes {
  /** null: it may be announced for the ban. @param isDropped all of its traffic would be dropped, not diverted. */
  refusalOf(prefix: Prefix, ban: EnclosedBan, isDropped: boolean): EnclosingRefusal | null;
  /** The scrub node that its traffic is diverted to already; null: none is. */
  nodeOf(prefix: Prefix): string | null;
}

export interface DivertRequest {
  readonly prefix: Prefix;
  /** The hostgroup of the prefix. */
  readonly group: string;
  /** The node that receives the traffic already; null: none. */
  readonly currentNode: string | null;
  /** The rules for the traffic; empty: not known yet, or none. Not needed while the current node stays. */
  readonly rules: () => readonly Rule[];
}

export interface RulesForReaders<Known extends NodeRules = NodeRules> {
  readonly prefix: Prefix;
  readonly flowspec: BanTerms["flowspec"];
  /** The rules for readers that support all match fields. */
  readonly rules: readonly Rule[];
  readonly present: readonly Known[];
  /** The rules or the packets changed since the present ones were made. */
  readonly isOutdated: boolean;
  /** An operator ordered the rules: each reader has those of them that it can match, and no others. Absent: they were found. */
  readonly isFixed?: true;
  /** The classified attacks with packets. */
  readonly observed: () => readonly ObservedAttack[];
}

export interface RulesAtNeighbors {
  /** `present` itself if nothing changes. */
  readonly rules: readonly NeighborRules[];
  /** There are neighbors that take rules, and none of them gets one of this ban. */
  readonly isNone: boolean;
}

/** All neighbors have the rules of the ban. */
export const NO_NEIGHBOR_RULES: RulesAtNeighbors = { rules: [], isNone: false };

/** Which of the configured scrub nodes to divert to. */
export type NodeTarget =
  | { readonly kind: "node"; readonly name: string; readonly nextHop: IpAddress }
  /** No node accepts traffic of this hostgroup and family. */
  | { readonly kind: "none" }
  /** All nodes that accept such traffic are lost, or do not enforce the ban's rules; `why` absent: lost. */
  | { readonly kind: "lost"; readonly instead: "withdraw" | "blackhole" | "flowspec"; readonly why?: NoTarget };
