/**
 * The mitigation of attacks: method, escalation, rules, bans and the routes of each method. Everything except the
 * limits of the whole table can be set by hostgroup, key by key; a ladder is replaced as a whole.
 */
import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { ACTIVE_BANS_MAX, BAN_SECONDS_MAX, COMMUNITIES_MAX } from "../../limits.ts";
import type { Action, Method, Rung } from "../../mitigation/escalation.ts";
import type { FlowspecConfig, GroupMitigation } from "../../mitigation/mitigation-config.ts";
import { parseCommunity } from "../../net/community.ts";
import {
  boolean,
  closedObject,
  defaultedObject,
  described,
  integer,
  list,
  oneOf,
  text,
} from "../../schema/schema-forms.ts";
import type { Direction } from "../../traffic/rates.ts";
import {
  BLACKHOLE_KEYS,
  type BlackholeFile,
  buildBlackhole,
  buildDivert,
  DIVERT_KEYS,
  NO_TERMS,
  TERMS_KEYS,
  type TermsFile,
} from "./route-terms.ts";
import { buildScrub, buildSelectable, type ProfilesFile, SCRUB_KEYS, type ScrubFile, ScrubProfiles } from "./scrub.ts";

const ESCALATION_RUNGS_MAX = 5;

const MethodKey = oneOf("blackhole", "flowspec", "divert", "scrub");
const ActionKey = oneOf("none", "scrub", "flowspec", "divert", "blackhole");

const RungFile = closedObject({
  after_seconds: described(
    integer(0, BAN_SECONDS_MAX),
    "When the rung begins, counted from the start of the ban. 0 for the first rung, then strictly increasing.",
  ),
  action: described(
    ActionKey,
    "The action from then on, never milder than that of an earlier rung. `none` only watches; a ban on such a rung does not count for `max_active_bans`. At least one rung must act.",
  ),
  unless_held: described(
    Type.Optional(Type.Boolean()),
    "Whether the rung begins only while the attack is not held: on the rung before, more than its threshold has passed this machine for five seconds. Only after a rung that scrubs on this machine.",
    { ifAbsent: "false: it begins by time alone" },
  ),
});
type RungFile = Static<typeof RungFile>;

type FlowspecAction = "discard" | "rate_limit" | "redirect" | "mark";

const FLOWSPEC_KEYS = {
  action: described(
    Type.Unsafe<FlowspecAction>({ ...oneOf("discard", "rate_limit", "redirect", "mark"), default: "discard" }),
    "The action of routers for packets that match a rule: discard all of them, limit their rate, send them elsewhere, or mark them. Scrub nodes and this machine discard where routers redirect, mark, or limit packets.",
  ),
  rate_mbps: described(
    Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    "With action `rate_limit`, the rate that may pass each rule at each router: a ban with three rules lets three times that pass.",
  ),
  rate_pps: described(
    Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    "The same in packets per second, in place of `rate_mbps`. Few routers support it (RFC 8955, 7.2).",
  ),
  redirect: described(
    Type.Optional(text("redirectTarget")),
    "With action `redirect`, where to: the route target of a VRF, `rt:65000:100`, or an IPv4 next hop, which rules for IPv6 cannot have.",
  ),
  dscp: described(Type.Optional(integer(0, 63)), "With action `mark`, the DSCP that the packets get."),
  communities: described(
    Type.Array(text("community"), { maxItems: COMMUNITIES_MAX, default: ["no-export"] }),
    "The communities of the rules that are announced. By default they do not leave the AS of the neighbor.",
  ),
  source_anchored: described(
    boolean(false),
    "Whether rules also match the sources, where a few of them send most of the attack.",
  ),
  min_source_concentration: described(
    Type.Number({ minimum: 0.05, maximum: 1, default: 0.8 }),
    "The share of the attack that these few sources must send, as a fraction.",
  ),
};

const DryRunDirections = Type.Array(oneOf("incoming", "outgoing"), { uniqueItems: true, maxItems: 2 });
const DRY_RUN_DIRECTIONS =
  "Directions of attacks whose bans are in dry run: recorded and not announced. Bans by hand count as `incoming`. With `dry_run` all bans are in dry run.";

const BAN_KEYS = {
  order_methods: described(
    Type.Optional(Type.Array(MethodKey, { uniqueItems: true, maxItems: 4 })),
    "The methods that tokens with a tenant may order by hand for addresses of the group.",
    { ifAbsent: "those of `mitigation` or of the ladder" },
  ),
  ttl_seconds: described(
    integer(1, BAN_SECONDS_MAX, 600),
    "How long a ban lasts. It is extended while its attack lasts.",
  ),
  unban_hysteresis_seconds: described(
    integer(0, 86_400, 120),
    "How long all rates must stay within the thresholds before the attack, and with it the ban, ends.",
  ),
  fallback: described(
    Type.Unsafe<Action>({ ...ActionKey, default: "blackhole" }),
    "The action if the method fails or is not available, such as FlowSpec if no neighbor accepts it. It has no effect in dry run.",
  ),
  cooldown_seconds: described(
    integer(0, BAN_SECONDS_MAX, 0),
    "The time after an operator's unban in which no attack bans the address again. The attack that it was banned for never does.",
  ),
  repeat_window_seconds: described(
    integer(0, BAN_SECONDS_MAX, 600),
    "An automatic ban that follows the end of another of the same address or prefix within this time is a repetition. 0 switches repetitions off.",
  ),
  repeat_hold_seconds: described(
    integer(1, BAN_SECONDS_MAX, 300),
    "The least time that the first repetition lasts, even if the attack seems to be over; each further one lasts twice as long.",
  ),
  repeat_hold_max_seconds: described(
    integer(1, BAN_SECONDS_MAX, 3600),
    "The bound of these times, at least `repeat_hold_seconds`.",
  ),
  deescalate_after_seconds: described(
    integer(0, BAN_SECONDS_MAX, 0),
    "How long nothing above the thresholds must have come in before a ban goes back from a rung with `unless_held` to the one before. If the attack is not held there, the ban returns to the rung, and the next time before it goes back is twice as long. Set it below `unban_hysteresis_seconds`, or the attack is over first. 0: a ban stays on its rung.",
  ),
};

const FlowspecSection = described(
  defaultedObject(FLOWSPEC_KEYS),
  "The rules of FlowSpec bans. Floodwall finds their match fields from the packets of the attack.",
  { examples: [{ action: "rate_limit", rate_mbps: 50, source_anchored: true }] },
);

const ScrubSection = described(
  defaultedObject(SCRUB_KEYS),
  "The filter of the method `scrub` on this machine, beside rules that match the attack. It needs the section `dataplane` on interfaces that the traffic comes in by.",
  {
    examples: [
      { profile: "web", tcp: "reset" },
      { source_packets_per_second: 500, services: [{ protocol: "udp", ports: ["27015"] }, { protocol: "icmp" }] },
    ],
  },
);

const BanSection = described(
  defaultedObject({
    ...BAN_KEYS,
    max_active_bans: described(
      integer(1, ACTIVE_BANS_MAX, 50),
      "The number of bans that may be active at once. Then the ban of an attack replaces an automatic one whose attack is calm or smaller; other bans are refused.",
    ),
    order_widest_v4: described(integer(8, 32, 24), "The length of the widest IPv4 prefix that may be banned by hand."),
    order_widest_v6: described(integer(16, 128, 48), "The same for an IPv6 prefix."),
    max_banned_fraction: described(
      Type.Number({ minimum: 0, maximum: 1, default: 0 }),
      "The fraction of all addresses in `networks`, for each family, that may be banned at once; beyond it, bans are replaced or refused as with `max_active_bans`. 0 sets no such bound.",
    ),
  }),
  "How long bans last, and how many there may be.",
  { examples: [{ ttl_seconds: 900, max_active_bans: 200, fallback: "none" }] },
);

export const MITIGATION_KEYS = {
  mitigation: described(
    Type.Unsafe<Method>({ ...MethodKey, default: "blackhole" }),
    "The method of bans: `blackhole` has your routers drop all traffic to the victim, `flowspec` drops what matches the attack, `divert` sends the traffic to a scrubbing center, `scrub` filters it on this machine as the section `scrub` says.",
  ),
  escalation: described(
    Type.Optional(list(RungFile, ESCALATION_RUNGS_MAX, { atLeastOne: true })),
    "A ladder of actions in place of `mitigation`: a ban that lasts goes from rung to rung.",
    {
      ifAbsent: "one rung, as `mitigation` says",
      examples: [
        [
          { after_seconds: 0, action: "flowspec" },
          { after_seconds: 120, action: "blackhole" },
        ],
      ],
    },
  ),
  dry_run_directions: described(Type.Unsafe<Direction[]>({ ...DryRunDirections, default: [] }), DRY_RUN_DIRECTIONS),
  flowspec: FlowspecSection,
  scrub: ScrubSection,
  scrub_profiles: ScrubProfiles,
  ban: BanSection,
};

/** In a hostgroup absent keys are inherited. */
export const GROUP_MITIGATION_KEYS = {
  mitigation: described(
    Type.Optional(MethodKey),
    "The method of the group's bans. It also takes the place of a top-level `escalation`.",
    { ifAbsent: "inherited" },
  ),
  escalation: described(
    Type.Optional(list(RungFile, ESCALATION_RUNGS_MAX, { atLeastOne: true })),
    "The ladder of the group, as a whole in place of the top-level one.",
    { ifAbsent: "inherited" },
  ),
  dry_run_directions: described(
    Type.Optional(Type.Unsafe<Direction[]>(DryRunDirections)),
    `${DRY_RUN_DIRECTIONS} An empty list is none.`,
    { ifAbsent: "inherited" },
  ),
  flowspec: inherited(FLOWSPEC_KEYS, "FlowSpec rules of the group, key by key in place of the top-level `flowspec`."),
  scrub: inherited(SCRUB_KEYS, "Scrubbing for the group, key by key in place of the top-level `scrub`."),
  ban: inherited(BAN_KEYS, "Bans of the group, key by key in place of the top-level `ban`."),
  bgp: inherited(
    { ...TERMS_KEYS, ...BLACKHOLE_KEYS },
    "Blackhole routes of the group, key by key in place of the top-level `bgp`.",
  ),
  scrubbing: inherited(
    DIVERT_KEYS,
    "Divert routes of the group, key by key in place of the top-level `scrubbing`. While `scrubbing.nodes` has entries, next hops are not allowed here.",
  ),
};

/** The same keys without their defaults. */
function inherited<Keys extends TProperties>(keys: Keys, description: string) {
  const bare = Object.entries(keys).map(([key, schema]) => {
    const copy = { ...schema };
    delete copy.default;
    return [key, copy];
  });
  const partial = Type.Partial(defaultedObject(Object.fromEntries(bare) as Keys));
  return described(partial, description, { ifAbsent: "inherited" });
}

interface MitigationFile {
  readonly mitigation: Method;
  readonly escalation?: readonly RungFile[];
  readonly flowspec: Static<typeof FlowspecSection>;
  readonly scrub: ScrubFile;
  readonly dry_run_directions: readonly Direction[];
  readonly ban: Omit<
    Static<typeof BanSection>,
    "max_active_bans" | "max_banned_fraction" | "order_widest_v4" | "order_widest_v6"
  >;
  readonly bgp?: BlackholeFile;
  readonly scrubbing?: TermsFile;
}

interface GroupMitigationFile {
  readonly mitigation?: Method;
  readonly escalation?: readonly RungFile[];
  readonly dry_run_directions?: readonly Direction[];
  readonly flowspec: Partial<MitigationFile["flowspec"]>;
  readonly scrub: ScrubFile;
  readonly ban: Partial<MitigationFile["ban"]>;
  readonly bgp: Partial<TermsFile>;
  readonly scrubbing: Partial<TermsFile>;
}

/**
 * The settings of a hostgroup: its own keys over the global ones. A group's own method replaces a global ladder, and its
 * own profile the global way of scrubbing.
 */
export function groupMitigationFile(global: MitigationFile, group: GroupMitigationFile): MitigationFile {
  const { mitigation, escalation = mitigation === undefined ? global.escalation : undefined } = group;
  return {
    mitigation: mitigation ?? global.mitigation,
    ...(escalation === undefined ? {} : { escalation }),
    dry_run_directions: group.dry_run_directions ?? global.dry_run_directions,
    flowspec: groupFlowspec(global.flowspec, group.flowspec),
    scrub: group.scrub.profile === undefined ? { ...global.scrub, ...group.scrub } : group.scrub,
    ban: { ...global.ban, ...group.ban },
    ...(global.bgp === undefined ? {} : { bgp: { ...global.bgp, ...group.bgp } }),
    ...(global.scrubbing === undefined && Object.keys(group.scrubbing).length === 0
      ? {}
      : { scrubbing: { ...NO_TERMS, ...global.scrubbing, ...group.scrubbing } }),
  };
}

/** The keys of an action belong to it: a group with another action has none of the global ones. */
function groupFlowspec(
  global: MitigationFile["flowspec"],
  group: GroupMitigationFile["flowspec"],
): MitigationFile["flowspec"] {
  const isOther = group.action !== undefined && group.action !== global.action;
  const { rate_mbps: _mbps, rate_pps: _pps, redirect: _redirect, dscp: _dscp, ...others } = global;
  const isOtherRate = group.rate_mbps !== undefined || group.rate_pps !== undefined;
  return { ...(isOther || isOtherRate ? others : global), ...group };
}

function rungOf({ after_seconds: afterSeconds, action, unless_held: unlessHeld = false }: RungFile): Rung {
  return { afterSeconds, action, ...(unlessHeld && { unlessHeld }) };
}

/** @param profiles those of `scrub_profiles`. */
export function buildMitigation(file: MitigationFile, profiles: ProfilesFile): GroupMitigation {
  const { mitigation, escalation = [{ after_seconds: 0, action: mitigation }], flowspec, scrub, ban } = file;
  return {
    method: mitigation,
    ladder: escalation.map(rungOf),
    hasEscalation: file.escalation !== undefined,
    flowspec: {
      ...buildAction(flowspec),
      communities: flowspec.communities.flatMap((each) => parseCommunity(each) ?? []),
      sourceAnchored: flowspec.source_anchored,
      minSourceConcentration: flowspec.min_source_concentration,
    },
    scrub: buildScrub(scrub, profiles),
    selectable: buildSelectable(scrub),
    ban: {
      ttlSeconds: ban.ttl_seconds,
      unbanHysteresisSeconds: ban.unban_hysteresis_seconds,
      fallback: ban.fallback,
      cooldownSeconds: ban.cooldown_seconds,
      repeatWindowSeconds: ban.repeat_window_seconds,
      repeatHoldSeconds: ban.repeat_hold_seconds,
      repeatHoldMaxSeconds: ban.repeat_hold_max_seconds,
      deescalateAfterSeconds: ban.deescalate_after_seconds,
    },
    orderMethods: ban.order_methods ?? methodsOf(escalation),
    dryRunDirections: file.dry_run_directions,
    blackhole: file.bgp === undefined ? null : buildBlackhole(file.bgp),
    divert: file.scrubbing === undefined ? null : buildDivert(file.scrubbing),
  };
}

function methodsOf(escalation: readonly RungFile[]): Method[] {
  const methods = escalation.map(({ action }) => action).filter((action): action is Method => action !== "none");
  return [...new Set(methods)];
}

/** A megabit is 10^6 bits, as in all rates. */
function buildAction(flowspec: MitigationFile["flowspec"]): Pick<FlowspecConfig, "action" | "routers"> {
  const { action, rate_mbps: mbps, rate_pps: pps, redirect, dscp } = flowspec;
  const discard = { kind: "discard" } as const;
  if (action === "rate_limit" && mbps !== undefined)
    return { action: { kind: "rate_limit", bytesPerSecond: (mbps * 1e6) / 8 } };
  if (action === "rate_limit" && pps !== undefined)
    return { action: discard, routers: { kind: "rate_limit_packets", packetsPerSecond: pps } };
  if (action === "redirect" && redirect !== undefined)
    return { action: discard, routers: { kind: "redirect", to: redirect } };
  if (action === "mark" && dscp !== undefined) return { action: discard, routers: { kind: "mark", dscp } };
  return { action: discard };
}
