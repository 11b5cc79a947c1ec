/** The sections about bans: by which method and terms, for each hostgroup, and how many at most. */
import type { TokenConfig } from "../access/token-config.ts";
import type { CarpetConfig } from "../detection/carpet/carpet-config.ts";
import type { Hostgroup } from "../detection/hostgroup.ts";
import type { IpAddress } from "../net/address.ts";
import type { Community } from "../net/community.ts";
import type { Prefix } from "../net/prefix.ts";
import type { PrefixTable } from "../net/prefix-table.ts";
import type { NetworkLookup } from "../traffic/network-lookup.ts";
import type { OwnInfrastructure } from "../traffic/own-infrastructure.ts";
import type { Direction } from "../traffic/rates.ts";
import type { CommunitiesAt } from "./announcer.ts";
import type { EnclosingLengths } from "./enclosing.ts";
import type { Action, Ladder, Method } from "./escalation.ts";
import type { RouterAction, RuleAction } from "./rules/action.ts";
import type { ScrubConfig, ScrubProfile, Selectable } from "./scrub/scrub-config.ts";

/** The mitigation of attacks on the hosts of one group. */
export interface GroupMitigation {
  readonly method: Method;
  readonly ladder: Ladder;
  /** Whether `escalation` is set: without it the ladder is derived from the method. */
  readonly hasEscalation: boolean;
  readonly flowspec: FlowspecConfig;
  readonly scrub: ScrubConfig;
  readonly selectable: Selectable;
  readonly ban: GroupBanConfig;
  /** Methods that tenants may order by hand. */
  readonly orderMethods: readonly Method[];
  /** Directions of attacks whose bans are virtual, beside the dry run of all. */
  readonly dryRunDirections: readonly Direction[];
  /** null: no BGP speaker. */
  readonly blackhole: RouteTerms | null;
  /** null: no scrubbing center is configured. */
  readonly divert: RouteTerms | null;
}

export interface FlowspecConfig {
  readonly action: RuleAction;
  /** The action of routers in place of `action`. Absent: that. */
  readonly routers?: RouterAction;
  /** The communities of the rules that are announced. Absent: none. */
  readonly communities?: readonly Community[];
  /** Whether rules match sources if these are concentrated. */
  readonly sourceAnchored: boolean;
  /** The share of the traffic that a few sources must send. */
  readonly minSourceConcentration: number;
  /** See FlowspecPolicy in src/mitigation/rules/rule-generator.ts. */
  readonly services?: ScrubConfig["services"];
}

export interface GroupBanConfig {
  readonly ttlSeconds: number;
  readonly unbanHysteresisSeconds: number;
  /** The action if the method is refused. */
  readonly fallback: Action;
  /** How long an operator's unban prevents automatic bans. */
  readonly cooldownSeconds: number;
  /** Time after a ban within which the next one is a repetition; 0: never. */
  readonly repeatWindowSeconds: number;
  /** The shortest duration of the first repetition; each further one is twice as long, up to the maximum. */
  readonly repeatHoldSeconds: number;
  readonly repeatHoldMaxSeconds: number;
  /** 0: a ban never goes back to a milder rung. */
  readonly deescalateAfterSeconds: number;
}

/** Attributes of a route other than its prefix. */
export interface RouteTerms {
  /** null: none for this family. */
  readonly nextHop: IpAddress | null;
  readonly nextHop6: IpAddress | null;
  readonly communities: readonly Community[];
  /** Absent: none. */
  readonly communitiesAt?: readonly CommunitiesAt[];
  /** 0: not set. */
  readonly localPref: number;
  /** Lengths of diverts in place of a ban's prefix, and of blackholes for neighbors that do not take it. Absent: none. */
  readonly enclosing?: EnclosingLengths;
}

/** Limits of the whole table of bans. */
export interface BanBounds {
  readonly maxActiveBans: number;
  /** Share of the addresses of all networks of a family, 0 to 1; 0: no limit. */
  readonly maxBannedFraction: number;
  /** The length of the widest prefix that is ordered by hand, of each family. */
  readonly orderWidestV4: number;
  readonly orderWidestV6: number;
}

/** Attacks that are spread over a prefix, and what is done about them. */
export interface CarpetMitigation extends CarpetConfig {
  /** `none`: only notifications. */
  readonly mitigation: Action;
}

/** The configuration as far as bans, protections and rules depend on it. */
export interface MitigationSections {
  readonly dryRun: boolean;
  readonly networks: readonly Prefix[];
  readonly hostgroups: readonly Hostgroup[];
  /** The mitigation of each hostgroup, in the same order. */
  readonly mitigations: readonly GroupMitigation[];
  readonly scrubProfiles: readonly ScrubProfile[];
  /** null: such attacks are not detected. */
  readonly carpet: CarpetMitigation | null;
  readonly lookup: NetworkLookup;
  readonly whitelist: PrefixTable;
  readonly own: OwnInfrastructure;
  readonly ban: BanBounds;
  readonly samples: { readonly enabled: boolean };
  readonly api: { readonly callers: readonly Pick<TokenConfig, "tenant">[] };
  /** null: no hook diverts prefixes. */
  readonly diversionHook: object | null;
  /** null: no scrub nodes. */
  readonly scrubbing: { readonly onAllNodesLost: "withdraw" | "blackhole" | "flowspec" } | null;
  /** null: nothing is dropped on this machine. */
  readonly dataplane: { readonly enabled: boolean } | null;
  /** null: no speaker. */
  readonly bgp: { readonly neighbors: readonly { readonly address: IpAddress; readonly name?: string }[] } | null;
}
