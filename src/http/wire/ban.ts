/** The ban (docs/interface.md#ban). */
import { type Static, type TInteger, Type } from "@sinclair/typebox";
import type { LimitedNeighbor, MissingNeighbor, RouteState } from "../../mitigation/announcer.ts";
import { type Ban, doingText } from "../../mitigation/ban.ts";
import type { Ladder } from "../../mitigation/escalation.ts";
import { enclosingIn, type Measure, separabilityOf } from "../../mitigation/measure.ts";
import type { OrderedTerms } from "../../mitigation/order/ban-order.ts";
import { retiringTexts } from "../../mitigation/retiring.ts";
import { matchText } from "../../mitigation/rules/match.ts";
import { routedRuleText } from "../../mitigation/rules/rule.ts";
import { DROP_REASONS, type DropReason } from "../../mitigation/scrub/scrub-rules.ts";
import { communitiesText } from "../../net/community.ts";
import { Count, closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { round } from "../../traffic/rates.ts";
import type { BanView } from "../backend.ts";
import { omitNulls } from "./omit-nulls.ts";
import { FlowspecWire, flowspecToWire } from "./rule.ts";
import { KEPT_FIELDS, SETTLED, savedToWire } from "./saved.ts";
import { SeparabilityWire, separabilityToWire } from "./separability.ts";
import { DROPPED_FIELDS, droppedToWire } from "./traffic/dropped.ts";

export const BanState = oneOf("active", "withdrawn", "rejected");
export const Method = oneOf("blackhole", "flowspec", "divert", "scrub");

const Announcement = oneOf("pending", "announced", "no_session", "speaker_down", "failed");

const DROPPED_BY = Object.fromEntries(DROP_REASONS.map((reason) => [reason, Type.Integer({ minimum: 1 })])) as Record<
  DropReason,
  TInteger
>;

const RungWire = closedObject({
  after_seconds: Count,
  action: Type.Union([Type.Literal("none"), Method]),
  /** It begins only while the attack is not held. Otherwise absent. */
  unless_held: Type.Optional(Type.Literal(true)),
});

export const LadderWire = Type.Array(RungWire);

const OrderedWire = closedObject({
  method: Type.Optional(Method),
  /** The match of each rule, as text. */
  rules: Type.Optional(Type.Array(Type.String())),
  rate_mbps: Type.Optional(Type.Number()),
  communities: Type.Optional(Type.String()),
  neighbors: Type.Optional(Type.Array(Type.String())),
});

const MovesWithWire = closedObject({
  hostgroups: Type.Array(Type.String()),
  /** Those of the last minute's sampled headers; absent: none are kept. */
  hosts: Type.Optional(Count),
  busiest: Type.Optional(Type.Array(closedObject({ target: Type.String(), mbps: Type.Number() }))),
});

export const BanWire = closedObject({
  /** For a prefix, its first address. */
  target: Type.String(),
  /** Shorter than /32 or /128 for an attack on a prefix. */
  prefix: Type.String(),
  metric: Type.Optional(Type.String()),
  rate: Type.Optional(Type.Number()),
  threshold: Type.Optional(Type.Number()),
  next_hop: Type.Optional(Type.String()),
  community: Type.Optional(Type.String()),
  local_pref: Type.Optional(Type.Number()),
  node: Type.Optional(Type.String()),
  route: Type.String(),
  /** The wider prefix that is announced for it, to all neighbors or to those that take no longer one. Otherwise absent. */
  announced_prefix: Type.Optional(Type.String()),
  /** The other hosts in that prefix, whose traffic moves with it. Only for callers without a tenant. */
  moves_with: Type.Optional(MovesWithWire),
  /** Why nothing, or no wider prefix, is announced for it: what would have moved with it. */
  not_announced: Type.Optional(Type.String()),
  state: BanState,
  dry_run: Type.Boolean(),
  manual: Type.Boolean(),
  /** Name of the token of the last operator who ordered it; only for callers without a tenant. */
  operator: Type.Optional(Type.String()),
  /** The terms that this operator ordered in place of the configuration's. */
  ordered: Type.Optional(OrderedWire),
  /** Why it was ordered. */
  order_reason: Type.Optional(Type.String()),
  /** The operator who ended it, and the reason. */
  ended_by: Type.Optional(Type.String()),
  end_reason: Type.Optional(Type.String()),
  started_at: Timestamp,
  expires_at: Timestamp,
  withdrawn_at: Type.Optional(Timestamp),
  reason: Type.Optional(Type.String()),
  method: Method,
  flowspec: Type.Optional(FlowspecWire),
  escalation: Type.Optional(LadderWire),
  escalation_step: Type.Optional(Count),
  /** True if no rule narrower than all traffic of the prefix was found. */
  matches_all: Type.Optional(Type.Boolean()),
  /** Whether its rules are known to match no users. Absent without rules, and until they have been looked for. */
  separable: Type.Optional(Type.Boolean()),
  separability: Type.Optional(SeparabilityWire),
  /** Why the method is not that of the rung. */
  fallback: Type.Optional(Type.String()),
  /** How many recent bans of the prefix preceded it, and until when it lasts for that reason. */
  repeat: Type.Optional(Type.Integer({ minimum: 1 })),
  hold_until: Type.Optional(Timestamp),
  /** Ids of the attacks in progress that it is for: while they last, its expiry is moved on. */
  attacks: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  /** Whether a neighbor has the route. Only for active bans that are not virtual. */
  announced: Type.Optional(Type.Boolean()),
  /** The state of the announcement; absent if nothing is announced: no announcer, or a rung that only watches. */
  announcement: Type.Optional(Announcement),
  /** Routes of its previous measure, which neighbors may have until they have the present ones. Otherwise absent. */
  retiring: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  /** Neighbors that have been sent all of it; only for tokens that see the neighbors. */
  sent_to: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  /** Neighbors that have not been sent all of an announced ban; only for tokens that see the neighbors. */
  missing_at: Type.Optional(
    Type.Array(closedObject({ neighbor: Type.String(), cause: Type.String() }), { minItems: 1 }),
  ),
  /** Neighbors that are not to get it, and why: an order, or their policy. As `sent_to`. */
  kept_from: Type.Optional(
    Type.Array(closedObject({ neighbor: Type.String(), cause: Type.String() }), { minItems: 1 }),
  ),
  /** Neighbors that have been sent it without some of its rules: for these their policy has no words or no room. As `sent_to`. */
  limited_at: Type.Optional(
    Type.Array(
      closedObject({ neighbor: Type.String(), left_out: Type.Integer({ minimum: 1 }), cause: Type.String() }),
      { minItems: 1 },
    ),
  ),
  /** The rules of neighbors that have others by their policies. Only for callers without a tenant. */
  neighbor_rules: Type.Optional(
    Type.Array(
      closedObject({
        neighbors: Type.Array(Type.String(), { minItems: 1 }),
        rules: Type.Array(Type.String()),
        /** Number of the ban's rules that these do not replace. */
        left_out: Count,
      }),
      { minItems: 1 },
    ),
  ),
  /** For an announced ban: how many neighbors have been sent all of it, and of how many. Also for tenants. */
  reached: Type.Optional(closedObject({ neighbors: Count, of: Type.Integer({ minimum: 1 }) })),
  /** Neighbors over eBGP that have been sent its rules: whether they validate these is not known. As `sent_to`. */
  maybe_invalid_at: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  /** Why the speaker refused the route. Not the ban's reason: the ban is active, and announcing is tried again. */
  announce_error: Type.Optional(Type.String()),
  /** Rules that its scrub node does not support and that nothing replaces. Only for callers without a tenant. */
  left_out_rules: Type.Optional(Type.Integer({ minimum: 1 })),
  /** Scrub nodes that refuse its rules, or do not put them in force, and why. Only for callers without a tenant. */
  refused_by: Type.Optional(Type.Array(closedObject({ node: Type.String(), reason: Type.String() }), { minItems: 1 })),
  /** Its scrub node reports that no traffic at all reaches it, well after the ban began. Otherwise absent. */
  node_idle: Type.Optional(Type.Literal(true)),
  ...KEPT_FIELDS,
  ...DROPPED_FIELDS,
  /** By what rule; a packet has one reason. */
  dropped_by: Type.Optional(Type.Partial(closedObject(DROPPED_BY))),
  /** In place of these where rules only count. */
  would_drop_packets: Type.Optional(Count),
  would_drop_bytes: Type.Optional(Count),
  /** With method scrub: packets answered so that their sources prove their address, and how often one did. */
  challenged_packets: Type.Optional(Count),
  validated_sources: Type.Optional(Count),
});
export type BanWire = Static<typeof BanWire>;

/** The answer to an order. */
export const OrderedBanWire = closedObject({
  ...BanWire.properties,
  /** For a refused one: the remedy, where the reason does not say it. */
  remedy: Type.Optional(Type.String()),
});
export type OrderedBanWire = Static<typeof OrderedBanWire>;
export const OrderedBansWire = closedObject({ bans: Type.Array(OrderedBanWire) });

export const BansWire = closedObject({ bans: Type.Array(BanWire) });
export type BansWire = Static<typeof BansWire>;

export function banToWire(view: BanView): BanWire {
  const { ban, routeState, dropped, leftOutRules, refusing = [], settled = SETTLED } = view;
  const { measure, escalation } = ban;
  const route = measure.kind === "blackhole" || measure.kind === "divert" ? measure.route : null;
  const isInForce = ban.state === "active" && !ban.dryRun;
  return omitNulls({
    target: ban.target,
    prefix: ban.prefix.text,
    // A manual ban has none (docs/interface.md#ban-metric), including one that an operator took over from an attack.
    metric: ban.manual ? null : ban.metric,
    rate: round(ban.rate) || null,
    threshold: ban.threshold || null,
    next_hop: route?.nextHop ?? null,
    community: communitiesText((measure.kind === "flowspec" ? measure : route)?.communities ?? []) || null,
    local_pref: route?.localPref || null,
    node: measure.kind === "divert" ? measure.node : null,
    route: doingText(ban),
    announced_prefix: enclosingIn(measure, ban.prefix)?.text ?? null,
    moves_with: view.movesWith == null ? null : movesWithToWire(view.movesWith),
    not_announced: notAnnounced(measure),
    state: ban.state,
    dry_run: ban.dryRun,
    manual: ban.manual,
    operator: ban.operator ?? null,
    ordered: ban.ordered === undefined ? null : orderedToWire(ban.ordered),
    order_reason: ban.orderReason ?? null,
    ended_by: ban.endedBy?.operator || null,
    end_reason: ban.endedBy?.reason || null,
    started_at: timestamp(ban.startedAt),
    expires_at: timestamp(ban.expiresAt),
    withdrawn_at: ban.withdrawnAt === null ? null : timestamp(ban.withdrawnAt),
    reason: ban.reason,
    method: ban.method,
    flowspec: flowspecToWire(measure),
    escalation: escalation === null ? null : ladderToWire(escalation),
    escalation_step: escalation === null ? null : ban.step,
    matches_all: measure.kind === "flowspec" && measure.matchesAll ? true : null,
    ...separabilityToWire(separabilityOf(measure)),
    fallback: ban.fallback,
    repeat: ban.repeat || null,
    hold_until: ban.holdUntil === null ? null : timestamp(ban.holdUntil),
    attacks: ban.state === "active" && ban.heldBy.length > 0 ? [...ban.heldBy] : null,
    announced: isInForce ? routeState?.kind === "announced" : null,
    retiring: isInForce ? retiringTexts(ban) : null,
    announcement: isInForce ? (routeState?.kind ?? null) : null,
    sent_to: isInForce && routeState?.kind === "announced" ? sentToWire(routeState.sentTo) : null,
    missing_at: isInForce && routeState?.kind === "announced" ? missingToWire(routeState.missingAt) : null,
    kept_from: isInForce && routeState?.kind === "announced" ? missingToWire(routeState.keptFrom) : null,
    limited_at: isInForce && routeState?.kind === "announced" ? limitedToWire(routeState.limitedAt) : null,
    neighbor_rules: neighborRulesToWire(measure),
    maybe_invalid_at: isInForce && routeState?.kind === "announced" ? sentToWire(routeState.maybeInvalidAt) : null,
    reached: isInForce ? reachedOf(view) : null,
    announce_error: isInForce ? announceError(routeState) : null,
    left_out_rules: leftOutRules || null,
    refused_by: refusing.length === 0 ? null : refusing.map(({ node, fault: { reason } }) => ({ node, reason })),
    node_idle: isInForce && view.isNodeIdle === true ? (true as const) : null,
    ...savedToWire(settled),
    ...scrubbedToWire(measure, dropped),
  });
}

function movesWithToWire({ hostgroups, hosts }: NonNullable<BanView["movesWith"]>): Static<typeof MovesWithWire> {
  const busiest = hosts?.busiest.map(({ target, mbps }) => ({ target, mbps: round(mbps) }));
  return { hostgroups: [...hostgroups], ...(hosts && { hosts: hosts.count }), ...(busiest && { busiest }) };
}

/** null: the prefix is announced, or none is to be. */
function notAnnounced(measure: Measure): string | null {
  if (measure.kind === "divert") return measure.notAnnounced ?? null;
  return measure.kind === "blackhole" ? (measure.route?.notEnclosed ?? null) : null;
}

function orderedToWire({
  method,
  rules,
  bytesPerSecond,
  communities,
  neighbors,
}: OrderedTerms): Static<typeof OrderedWire> {
  return {
    ...(method && { method }),
    ...(rules && { rules: rules.map(matchText) }),
    ...(bytesPerSecond !== undefined && { rate_mbps: (bytesPerSecond * 8) / 1e6 }),
    ...(communities && { communities: communitiesText(communities) }),
    ...(neighbors && { neighbors: [...neighbors] }),
  };
}

function scrubbedToWire(measure: Measure, dropped: BanView["dropped"]): Partial<BanWire> {
  if (dropped == null) return {};
  const { byReason = {}, challenged, validated } = dropped;
  const reasons = Object.keys(byReason).length === 0 ? {} : { dropped_by: byReason };
  if (measure.kind === "scrub" && measure.filter.countsOnly) {
    return { ...reasons, would_drop_packets: dropped.packets, would_drop_bytes: dropped.bytes };
  }
  return {
    ...droppedToWire(dropped),
    ...reasons,
    ...(challenged === undefined ? {} : { challenged_packets: challenged, validated_sources: validated ?? 0 }),
  };
}

export function ladderToWire(ladder: Ladder): Static<typeof RungWire>[] {
  return ladder.map(({ afterSeconds, action, unlessHeld = false }) => ({
    after_seconds: afterSeconds,
    action,
    ...(unlessHeld && { unless_held: true as const }),
  }));
}

function announceError(state: RouteState | null): string | null {
  return state?.kind === "failed" || state?.kind === "speaker_down" ? `bgp announce failed: ${state.cause}` : null;
}

/** null: it is not announced, or by something that does not name the neighbors. */
function reachedOf({ routeState, reached }: BanView): NonNullable<BanView["reached"]> | null {
  if (reached !== undefined || routeState?.kind !== "announced") return reached ?? null;
  const [neighbors, missing] = [routeState.sentTo?.length ?? 0, routeState.missingAt?.length ?? 0];
  return neighbors + missing === 0 ? null : { neighbors, of: neighbors + missing };
}

function sentToWire(neighbors: readonly string[] = []): string[] | null {
  return neighbors.length === 0 ? null : [...neighbors];
}

function missingToWire(missing: readonly MissingNeighbor[] = []): MissingNeighbor[] | null {
  return missing.length === 0 ? null : missing.map(({ neighbor, cause }) => ({ neighbor, cause }));
}

function limitedToWire(limited: readonly LimitedNeighbor[] = []): NonNullable<BanWire["limited_at"]> | null {
  if (limited.length === 0) return null;
  return limited.map(({ neighbor, leftOut, cause }) => ({ neighbor, left_out: leftOut, cause }));
}

function neighborRulesToWire(measure: Measure): NonNullable<BanWire["neighbor_rules"]> | null {
  if (measure.kind !== "flowspec" || measure.neighborRules === undefined) return null;
  const { routers } = measure;
  return measure.neighborRules.map(({ neighbors, rules, leftOut }) => {
    const texts = rules.map((rule) => routedRuleText(rule, routers ?? rule.action));
    return { neighbors: [...neighbors], rules: texts, left_out: leftOut };
  });
}

/**
 * A tenant sees how many neighbors have it, but not which (docs/interface.md#status-bgp), nor what scrub nodes lack and refuse, and the names of tokens,
 * which may be those of others.
 */
export function ofTenant(view: BanView, tenant: string | null): BanView {
  if (tenant === null) return view;
  const { leftOutRules: _rules, refusing: _nodes, movesWith: _others, ban, ...rest } = view;
  const others = { ...rest, ban: namelessBan(ban, tenant), reached: reachedOf(view) };
  return others.routeState?.kind === "announced" ? { ...others, routeState: { kind: "announced" } } : others;
}

/** Words of others are theirs; what is done to the tenant's addresses is shown. */
export function namelessBan(ban: Ban, tenant: string): Ban {
  const { operator: _name, orderReason, endedBy: _ended, ordered, ...nameless } = ban;
  const { neighbors: _neighbors, communities: _communities, ...terms } = ordered ?? {};
  return {
    ...nameless,
    measure: withoutNeighbors(ban.measure),
    ...(ordered && { ordered: terms }),
    ...(orderReason !== undefined && ban.tenant === tenant && { orderReason }),
  };
}

function withoutNeighbors(measure: Measure): Measure {
  if (measure.kind !== "flowspec" || measure.neighborRules === undefined) return measure;
  const { neighborRules: _, ...others } = measure;
  return others;
}
