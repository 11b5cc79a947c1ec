/**
 * What is done about attacks: method, escalation, rules, bans and the routes of each method. All but the bounds of the
 * whole table can be set by hostgroup, key by key; a ladder is taken as a whole.
 */
import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { ACTIVE_BANS_MAX, BAN_SECONDS_MAX, COMMUNITIES_MAX, ESCALATION_RUNGS_MAX } from "../../limits.ts";
import type { Action, Ladder, Method } from "../../mitigation/escalation.ts";
import type { RuleAction } from "../../mitigation/rules/rule.ts";
import { type IpAddress, parseAddress } from "../../net/address.ts";
import { boolean, closed, integer, list, oneOf, text, withDefaults } from "../load/schema-forms.ts";
import { parseCommunity } from "../load/text-forms.ts";

const MethodKey = oneOf("blackhole", "flowspec", "divert");
const ActionKey = oneOf("none", "flowspec", "divert", "blackhole");

const Rung = Type.Object({ after_seconds: integer(0, BAN_SECONDS_MAX), action: ActionKey }, closed);

const FLOWSPEC_KEYS = {
  action: Type.Unsafe<"discard" | "rate_limit">({ ...oneOf("discard", "rate_limit"), default: "discard" }),
  rate_mbps: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  source_anchored: boolean(false),
  min_source_concentration: Type.Number({ minimum: 0.05, maximum: 1, default: 0.8 }),
};

const BAN_KEYS = {
  ttl_seconds: integer(1, BAN_SECONDS_MAX, 600),
  unban_hysteresis_seconds: integer(0, 86_400, 120),
  fallback: Type.Unsafe<Action>({ ...ActionKey, default: "blackhole" }),
  cooldown_seconds: integer(0, BAN_SECONDS_MAX, 0),
  repeat_window_seconds: integer(0, BAN_SECONDS_MAX, 600),
  repeat_hold_seconds: integer(1, BAN_SECONDS_MAX, 300),
  repeat_hold_max_seconds: integer(1, BAN_SECONDS_MAX, 3600),
};

const TERMS_KEYS = {
  next_hop: Type.Optional(text("ipv4")),
  next_hop6: Type.Optional(text("ipv6")),
  communities: list(text("community"), COMMUNITIES_MAX),
  local_pref: integer(0, 0xffff_ffff, 0),
};

/** Keys of `scrubbing` that say how traffic gets to a scrubbing center. */
export const DIVERT_KEYS = TERMS_KEYS;

const FlowspecSection = Type.Object(FLOWSPEC_KEYS, withDefaults);

const BanSection = Type.Object(
  {
    ...BAN_KEYS,
    max_active_bans: integer(1, ACTIVE_BANS_MAX, 50),
    max_banned_fraction: Type.Number({ minimum: 0, maximum: 1, default: 0 }),
  },
  withDefaults,
);

export const MITIGATION_KEYS = {
  mitigation: Type.Unsafe<Method>({ ...MethodKey, default: "blackhole" }),
  escalation: Type.Optional(list(Rung, ESCALATION_RUNGS_MAX, { atLeastOne: true })),
  flowspec: FlowspecSection,
  ban: BanSection,
};

/** In a hostgroup: what is absent is inherited. */
export const GROUP_MITIGATION_KEYS = {
  mitigation: Type.Optional(MethodKey),
  escalation: Type.Optional(list(Rung, ESCALATION_RUNGS_MAX, { atLeastOne: true })),
  flowspec: inherited(FLOWSPEC_KEYS),
  ban: inherited(BAN_KEYS),
  bgp: inherited(TERMS_KEYS),
  scrubbing: inherited(TERMS_KEYS),
};

/** The same keys without their defaults. */
function inherited<Keys extends TProperties>(keys: Keys) {
  const bare = Object.entries(keys).map(([key, schema]) => {
    const copy = { ...schema };
    delete copy.default;
    return [key, copy];
  });
  return Type.Partial(Type.Object(Object.fromEntries(bare) as Keys), withDefaults);
}

/** What is done about attacks on the hosts of one group. */
export interface GroupMitigation {
  readonly method: Method;
  readonly ladder: Ladder;
  /** Whether there is an `escalation`: without one the ladder is made of the method. */
  readonly hasEscalation: boolean;
  readonly flowspec: FlowspecConfig;
  readonly ban: GroupBanConfig;
  /** null: no BGP speaker. */
  readonly blackhole: RouteTerms | null;
  /** null: nothing is said of where a scrubbing center is. */
  readonly divert: RouteTerms | null;
}

export interface FlowspecConfig {
  readonly action: RuleAction;
  /** Rules name sources, where they are concentrated. */
  readonly sourceAnchored: boolean;
  /** The share of the traffic that a few sources must send. */
  readonly minSourceConcentration: number;
}

export interface GroupBanConfig {
  readonly ttlSeconds: number;
  readonly unbanHysteresisSeconds: number;
  /** What is done where the method is refused. */
  readonly fallback: Action;
  /** How long an operator's unban keeps automatic bans off. */
  readonly cooldownSeconds: number;
  /** How soon after a ban the next one is its repetition; 0: none is. */
  readonly repeatWindowSeconds: number;
  /** How long the first repetition holds at least; each further one twice as long, up to the maximum. */
  readonly repeatHoldSeconds: number;
  readonly repeatHoldMaxSeconds: number;
}

/** What a route says beside its prefix. */
export interface RouteTerms {
  /** null: none for this family. */
  readonly nextHop: IpAddress | null;
  readonly nextHop6: IpAddress | null;
  /** As `65535:666`. */
  readonly communities: readonly string[];
  /** 0: not set. */
  readonly localPref: number;
}

interface TermsFile {
  readonly next_hop?: string;
  readonly next_hop6?: string;
  readonly communities: readonly string[];
  readonly local_pref: number;
}

export interface MitigationFile {
  readonly mitigation: Method;
  readonly escalation?: readonly Static<typeof Rung>[];
  readonly flowspec: Static<typeof FlowspecSection>;
  readonly ban: Omit<Static<typeof BanSection>, "max_active_bans" | "max_banned_fraction">;
  readonly bgp?: TermsFile;
  readonly scrubbing?: TermsFile;
}

export interface GroupMitigationFile {
  readonly mitigation?: Method;
  readonly escalation?: readonly Static<typeof Rung>[];
  readonly flowspec: Partial<MitigationFile["flowspec"]>;
  readonly ban: Partial<MitigationFile["ban"]>;
  readonly bgp: Partial<TermsFile>;
  readonly scrubbing: Partial<TermsFile>;
}

const NO_TERMS: TermsFile = { communities: [], local_pref: 0 };

/** Of a hostgroup: its own keys over the global ones. A method of its own takes the place of a global ladder. */
export function groupMitigationFile(global: MitigationFile, group: GroupMitigationFile): MitigationFile {
  const { mitigation, escalation = mitigation === undefined ? global.escalation : undefined } = group;
  return {
    mitigation: mitigation ?? global.mitigation,
    ...(escalation === undefined ? {} : { escalation }),
    flowspec: groupFlowspec(global.flowspec, group.flowspec),
    ban: { ...global.ban, ...group.ban },
    ...(global.bgp === undefined ? {} : { bgp: { ...global.bgp, ...group.bgp } }),
    ...(global.scrubbing === undefined && Object.keys(group.scrubbing).length === 0
      ? {}
      : { scrubbing: { ...NO_TERMS, ...global.scrubbing, ...group.scrubbing } }),
  };
}

/** A global rate goes with the global action: a group that discards has none. */
function groupFlowspec(
  { rate_mbps: rate, ...global }: MitigationFile["flowspec"],
  group: GroupMitigationFile["flowspec"],
): MitigationFile["flowspec"] {
  const merged = { ...global, ...group };
  return merged.action === "discard" || rate === undefined ? merged : { rate_mbps: rate, ...merged };
}

export function buildMitigation(file: MitigationFile): GroupMitigation {
  const { mitigation, escalation = [{ after_seconds: 0, action: mitigation }], flowspec, ban } = file;
  return {
    method: mitigation,
    ladder: escalation.map(({ after_seconds: afterSeconds, action }) => ({ afterSeconds, action })),
    hasEscalation: file.escalation !== undefined,
    flowspec: {
      action: buildAction(flowspec),
      sourceAnchored: flowspec.source_anchored,
      minSourceConcentration: flowspec.min_source_concentration,
    },
    ban: {
      ttlSeconds: ban.ttl_seconds,
      unbanHysteresisSeconds: ban.unban_hysteresis_seconds,
      fallback: ban.fallback,
      cooldownSeconds: ban.cooldown_seconds,
      repeatWindowSeconds: ban.repeat_window_seconds,
      repeatHoldSeconds: ban.repeat_hold_seconds,
      repeatHoldMaxSeconds: ban.repeat_hold_max_seconds,
    },
    blackhole: file.bgp === undefined ? null : buildTerms(file.bgp),
    divert: file.scrubbing === undefined ? null : buildTerms(file.scrubbing),
  };
}

/** A megabit is 10^6 bits, as in all rates. */
function buildAction({ action, rate_mbps: rateMbps }: MitigationFile["flowspec"]): RuleAction {
  if (action === "discard" || rateMbps === undefined) return { kind: "discard" };
  return { kind: "rate_limit", bytesPerSecond: (rateMbps * 1e6) / 8 };
}

function buildTerms({
  next_hop: nextHop,
  next_hop6: nextHop6,
  communities,
  local_pref: localPref,
}: TermsFile): RouteTerms {
  return {
    nextHop: nextHop === undefined ? null : parseAddress(nextHop),
    nextHop6: nextHop6 === undefined ? null : parseAddress(nextHop6),
    communities: communities.map((community) => parseCommunity(community) ?? community),
    localPref,
  };
}
