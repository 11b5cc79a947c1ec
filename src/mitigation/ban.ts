/**
 * A ban: one prefix, usually a single address, whose traffic is dropped, filtered or diverted for a bounded time
 * (docs/interface.md#ban-states). Pure functions from a ban and an event to the next ban, independent of tables,
 * databases, configuration and BGP.
 */
import type { Holder } from "../access/shares.ts";
import { type Attack, attackRate } from "../detection/attack/attack.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Metric } from "../traffic/rates.ts";
import type { Route } from "./announcer.ts";
import type { Ladder, Method } from "./escalation.ts";
import {
  hasLooked,
  isSameForEach,
  isSameMeasure,
  type Measure,
  measureText,
  NO_MEASURE,
  routeKey,
  routesOf,
} from "./measure.ts";
import { type BanOrder, hasTerms, type OrderedTerms } from "./order/ban-order.ts";

export interface Ban {
  readonly id: string;
  /** The address, or the first one of the prefix. */
  readonly target: IpAddress;
  readonly prefix: Prefix;
  readonly state: "active" | "withdrawn" | "rejected";
  /** Virtual: recorded, never announced. */
  readonly dryRun: boolean;
  /** Requested by an operator; such a ban does not end with its attacks. */
  readonly manual: boolean;
  /** Name of the token of the last operator who ordered it; absent on an open API and for automatic bans. */
  readonly operator?: string;
  /** The terms that this operator ordered in place of the hostgroup's; absent: none. */
  readonly ordered?: OrderedTerms;
  /** Why; absent: not said. */
  readonly orderReason?: string;
  /** Number of orders after the one that made it, or made it manual. Absent: none. */
  readonly reordered?: number;
  /** Ordered in dry run: it becomes real by another order, or by the terms of an attack. Absent: false. */
  readonly isVirtualOrder?: true;
  /** The operator who ended it, why, and the tenant of that operator, absent: not known. Absent: the service ended it. */
  readonly endedBy?: { readonly operator: string; readonly reason: string; readonly tenant?: string | null };
  /** The tenant whose share of manual bans it takes (docs/interface.md#limit-shares); absent: it takes no share. */
  readonly tenant?: string;
  /** The attack that caused it, or took it over; null for a manual ban. */
  readonly attackId: string | null;
  /** Attacks in progress on the prefix, of either direction, that keep the ban in force. */
  readonly heldBy: readonly string[];
  readonly metric: Metric | null;
  /** The attack's rate when the ban started; 0 for a manual ban. */
  readonly rate: number;
  readonly threshold: number;
  /** The current method, or, while it only watches, the next one. */
  readonly method: Method;
  readonly measure: Measure;
  /** Routes of the previous measure, which stay until those of this one are announced. */
  readonly retiring: readonly Route[];
  /** The prefix that the hook diverted for the previous measure, which stays diverted as long. Absent: none. */
  readonly retiringDiversion?: Prefix;
  /** null: no ladder is configured. */
  readonly escalation: Ladder | null;
  /** Index of the current rung. */
  readonly step: number;
  /** Why the measure differs from the rung's action; null: it does not differ. */
  readonly fallback: string | null;
  /** How many bans of the prefix ended shortly before the next one started. */
  readonly repeat: number;
  /** Wall clock, ms: the ban stays until then even if its attack ends; null: it ends with its attack. */
  readonly holdUntil: number | null;
  /** Wall clock, ms. */
  readonly startedAt: number;
  /** `startedAt`, or when an attack took it over, corrected for steps of the wall clock. The rungs count from here. */
  readonly countedFrom: number;
  readonly expiresAt: number;
  readonly withdrawnAt: number | null;
  /** Why rejected or withdrawn. */
  readonly reason: string | null;
}

/** The part of a ban that planning decides. */
export type Plan = Pick<Ban, "step" | "method" | "measure" | "fallback">;

/** Withdrawal reasons. */
export const MANUAL_UNBAN = "manual unban";
export const ATTACK_ENDED = "attack ended";
/** The ban's method is divert, and no scrub node is left. */
export const ALL_NODES_LOST = "all scrubbing nodes lost";
/** The same, but nodes that are alive refuse its rules or do not put them in force. */
export const NODES_REFUSE = "no scrubbing node enforces its rules";
export type NoTarget = typeof ALL_NODES_LOST | typeof NODES_REFUSE;
export const TTL_EXPIRED = "ttl expired";

/** A change of a ban, including a mere extension; `previous` is null for a new one. */
export interface BanChange {
  readonly ban: Ban;
  readonly previous: Ban | null;
}

/** The new state; or the ban became virtual or real; or its measure changed. */
export type BanChangeKind = Ban["state"] | "dry_run" | "changed";

/** The kind of change to report. null: nothing to report, as for an extension. */
export function banChangeKind({ ban, previous }: BanChange): BanChangeKind | null {
  if (ban.state !== previous?.state) return ban.state;
  if (ban.dryRun !== previous.dryRun) return "dry_run";
  if (ban.method !== previous.method || ban.step !== previous.step) return "changed";
  return isSameMeasure(ban.measure, previous.measure) ? null : "changed";
}

/** The rung that the ban went back from, to an earlier one of its ladder; null: it did not. */
export function rungLeft({ ban, previous }: BanChange): number | null {
  return previous !== null && ban.state === "active" && ban.step < previous.step ? previous.step : null;
}

export type BanEvent =
  /** The attack continues: the expiry is extended. */
  | { readonly kind: "attack_lasts"; readonly attackId: string; readonly ttlSeconds: number }
  | { readonly kind: "attack_ended"; readonly attackId: string }
  /** An operator requested a ban that already exists. */
  | Refreshed
  | { readonly kind: "unbanned"; readonly by?: NonNullable<Ban["endedBy"]> }
  /** An attack needs a ban that an operator ordered in dry run: from now on it is the attack's. */
  | { readonly kind: "taken_over"; readonly attack: Attack; readonly escalation: Ladder | null }
  /** Time passed. */
  | { readonly kind: "clock" }
  /** The wall clock was set: the remaining times do not change. */
  | { readonly kind: "clock_stepped"; readonly byMs: number }
  /**
   * A rung is due, the method was refused, or the attack is better known. `isOut`: neighbors have the current routes.
   */
  | { readonly kind: "planned"; readonly plan: Plan; readonly isOut: boolean }
  /** Neighbors have the current routes: the retiring ones are not needed any more. */
  | { readonly kind: "announced" }
  /** The attack is now spread over a wider prefix. `isOut`: neighbors have the routes of the old one. */
  | { readonly kind: "moved"; readonly prefix: Prefix; readonly plan: Plan; readonly isOut: boolean }
  /** The configuration changed and no longer allows this ban, or the ban of a worse attack takes its place. */
  | { readonly kind: "disallowed" | "replaced"; readonly reason: string }
  /** The configuration changed: dry run, ladder and plan follow from the new one. */
  | {
      readonly kind: "policy";
      readonly dryRun: boolean;
      readonly escalation: Ladder | null;
      readonly plan: Plan;
      readonly isOut: boolean;
    };

interface Refreshed {
  readonly kind: "refreshed";
  /** That of the hostgroup. */
  readonly ttlSeconds: number;
  readonly by: Holder;
  readonly order: Pick<BanOrder, "terms" | "ttlSeconds" | "reason">;
  readonly isVirtual: boolean;
  /** The ladder of the terms from now on. */
  readonly escalation: Ladder | null;
}

/** The expiry is extended in steps, so that a lasting attack does not cause ten writes per second. */
const EXPIRY_STEP_MS = 10_000;

/** Returns the same object when nothing changes. A ban that is not active never changes again. */
export function next(ban: Ban, event: BanEvent, wallMs: number): Ban {
  if (ban.state !== "active") return ban;
  if ("plan" in event && hasNoScrubTarget(event.plan)) return withdraw(ban, noTargetOf(event.plan), wallMs);
  switch (event.kind) {
    case "attack_lasts":
      return extendExpiry(ban, event.attackId, event.ttlSeconds, wallMs);
    case "attack_ended":
      return attackEnded(ban, event.attackId, wallMs);
    case "refreshed":
      return refreshed(ban, event, wallMs);
    case "unbanned":
      return { ...withdraw(ban, MANUAL_UNBAN, wallMs), ...(event.by && { endedBy: event.by }) };
    case "taken_over":
      return takenOver(ban, event, wallMs);
    case "clock":
      return onClock(ban, wallMs);
    case "clock_stepped":
      return shiftTimes(ban, event.byMs);
    case "planned":
      return withPlan(ban, event.plan, event.isOut);
    case "announced":
      return hasRetiring(ban) ? { ...withoutDiversion(ban), retiring: [] } : ban;
    case "moved":
      return moved(ban, event);
    case "disallowed":
    case "replaced":
      return withdraw(ban, event.reason, wallMs);
    case "policy":
      return applyPolicy(ban, event);
    default:
      return event satisfies never;
  }
}

/** An order without terms of its own prolongs what was ordered before. */
function refreshed(ban: Ban, { by, ttlSeconds, order, isVirtual, escalation }: Refreshed, wallMs: number): Ban {
  const { isVirtualOrder: _, ...others } = orderedBy(ban, by);
  const expiresAt = wallMs + (order.ttlSeconds ?? ttlSeconds) * 1000;
  return {
    ...others,
    expiresAt: order.ttlSeconds === null ? Math.max(ban.expiresAt, expiresAt) : expiresAt,
    ...(hasTerms(order.terms) && { ordered: order.terms }),
    ...(order.reason !== "" && { orderReason: order.reason }),
    ...(isVirtual && { isVirtualOrder: true }),
    ...(ban.manual && { reordered: (ban.reordered ?? 0) + 1 }),
    escalation,
    dryRun: isVirtual,
    // A virtual ban has no routes that could retire.
    ...(ban.dryRun && !isVirtual && hasTerms(order.terms) && { measure: NO_MEASURE }),
  };
}

/** It counts from now on, as a new ban of the attack would. */
function takenOver(ban: Ban, { attack, escalation }: Extract<BanEvent, { kind: "taken_over" }>, wallMs: number): Ban {
  const { operator: _, tenant: __, ordered: ___, orderReason: ____, ...unordered } = ban;
  const { isVirtualOrder: _____, reordered: ______, ...others } = unordered;
  const { id: attackId, metric, threshold } = attack;
  return {
    ...{ ...others, manual: false, dryRun: false },
    ...{ attackId, metric, threshold, rate: attackRate(attack), countedFrom: wallMs },
    ...{ escalation, step: 0, measure: NO_MEASURE, fallback: null },
  };
}

/** Sets the operator who ordered it last and the tenant whose share it takes. */
function orderedBy(ban: Ban, by: Holder): Ban {
  const { operator: _, tenant: before, orderReason, ...others } = ban;
  // A reload may give the prefix to another tenant, who does not see the words of the one before.
  const isOfAnother = by.tenant !== null && before !== undefined && before !== by.tenant;
  const kept = orderReason === undefined || isOfAnother ? {} : { orderReason };
  return { ...others, manual: true, ...kept, ...orderer(by) };
}

/** @param by the operator is empty on an open API */
export function orderer({ operator, tenant }: Holder): Pick<Ban, "operator" | "tenant"> {
  return { ...(operator !== "" && { operator }), ...(tenant !== null && { tenant }) };
}

/** Whether it is on a rung that only watches. */
export function isWatching({ escalation, step }: Pick<Ban, "escalation" | "step">): boolean {
  return escalation?.[step]?.action === "none";
}

/** Whether it is announced, and not only recorded. */
export function isReal({ state, dryRun }: Pick<Ban, "state" | "dryRun">): boolean {
  return state === "active" && !dryRun;
}

/** The holder whose share the ban takes; null: no share, as no caller ordered it. */
export function holderOf({ manual, operator, tenant }: Pick<Ban, "manual" | "operator" | "tenant">): Holder | null {
  return manual ? { operator: operator ?? "", tenant: tenant ?? null } : null;
}

function extendExpiry(ban: Ban, attackId: string, ttlSeconds: number, wallMs: number): Ban {
  const expiresAt = wallMs + ttlSeconds * 1000;
  const step = Math.min(EXPIRY_STEP_MS, ttlSeconds * 250);
  const isKnown = ban.heldBy.includes(attackId);
  if (isKnown && expiresAt - ban.expiresAt < step) return ban;
  const heldBy = isKnown ? ban.heldBy : [...ban.heldBy, attackId];
  return { ...ban, heldBy, expiresAt: Math.max(ban.expiresAt, expiresAt) };
}

/** A ban of two attacks, one in each direction, lasts until both end. */
function attackEnded(ban: Ban, attackId: string, wallMs: number): Ban {
  if (!ban.heldBy.includes(attackId)) return ban;
  return endIfOver({ ...ban, heldBy: ban.heldBy.filter((id) => id !== attackId) }, wallMs);
}

function onClock(ban: Ban, wallMs: number): Ban {
  return wallMs >= ban.expiresAt ? withdraw(ban, TTL_EXPIRED, wallMs) : endIfOver(ban, wallMs);
}

/** Ends the ban if no operator and no attack needs it, and its hold time is over. */
function endIfOver(ban: Ban, wallMs: number): Ban {
  if (ban.manual || ban.heldBy.length > 0) return ban;
  return ban.holdUntil !== null && wallMs < ban.holdUntil ? ban : withdraw(ban, ATTACK_ENDED, wallMs);
}

function shiftTimes(ban: Ban, byMs: number): Ban {
  return {
    ...ban,
    countedFrom: ban.countedFrom + byMs,
    expiresAt: ban.expiresAt + byMs,
    holdUntil: ban.holdUntil === null ? null : ban.holdUntil + byMs,
  };
}

/** Make before break: the announced routes stay beside the new ones, except those that the new ones replace. */
function withPlan(ban: Ban, plan: Plan, isOut: boolean): Ban {
  if (isSameMeasure(ban.measure, plan.measure)) {
    const measure = isSameForEach(ban.measure, plan.measure) ? ban.measure : plan.measure;
    const isSame = ban.step === plan.step && ban.method === plan.method && ban.fallback === plan.fallback;
    return isSame && measure === ban.measure ? ban : { ...ban, ...plan, measure };
  }
  return retired(ban, { ...ban, ...plan }, isOut);
}

/** Make before break: the routes of the old prefix stay until those of the new one are announced. */
function moved(ban: Ban, { prefix, plan, isOut }: Extract<BanEvent, { kind: "moved" }>): Ban {
  if (prefix.text === ban.prefix.text) return withPlan(ban, plan, isOut);
  return retired(ban, { ...ban, ...plan, prefix, target: prefix.address }, isOut);
}

/** The ban after the change, with what stays of the measure before it. */
function retired(ban: Ban, after: Ban, isOut: boolean): Ban {
  const routes = routesOf(after.measure, after.prefix);
  const bare = withoutDiversion(after);
  if (ban.dryRun || (routes.length === 0 && !takesPlaceLater(after.measure))) return { ...bare, retiring: [] };
  // When neither is announced, the older one may still be with a neighbor: of three measures, drop the middle one.
  const out = isOut || ban.retiring.length === 0 ? routesOf(ban.measure, ban.prefix) : ban.retiring;
  const replaced = new Set(routes.map(routeKey));
  const retiring = out.filter((route) => !replaced.has(routeKey(route)));
  const diverted = isOut ? wantedDiversion(ban) : (ban.retiringDiversion ?? null);
  const isLeft = diverted !== null && diverted.text !== wantedDiversion(after)?.text;
  return { ...bare, retiring, ...(isLeft && { retiringDiversion: diverted }) };
}

export function withoutDiversion(ban: Ban): Ban {
  const { retiringDiversion: _, ...others } = ban;
  return others;
}

/** Whether something of the previous measure stays. */
export function hasRetiring({ retiring, retiringDiversion }: Ban): boolean {
  return retiring.length > 0 || retiringDiversion !== undefined;
}

/** Whether the measure has no routes now: this machine or a hook does it, or its rules wait for a classification. */
export function takesPlaceLater(measure: Measure): boolean {
  if (measure.kind === "divert") return measure.diversion !== undefined;
  return measure.kind === "scrub" || (measure.kind === "flowspec" && !hasLooked(measure));
}

function applyPolicy(ban: Ban, policy: Extract<BanEvent, { kind: "policy" }>): Ban {
  const { dryRun, escalation } = policy;
  const planned = withPlan(ban, policy.plan, policy.isOut);
  const isSame = planned.dryRun === dryRun && JSON.stringify(planned.escalation) === JSON.stringify(escalation);
  if (isSame) return planned;
  const retiring = dryRun ? { ...withoutDiversion(planned), retiring: [] } : planned;
  return { ...retiring, escalation, dryRun };
}

/** No scrub node is left and no substitute is configured: such a ban ends, or never starts. */
export function hasNoScrubTarget({ measure, fallback }: Pick<Plan, "measure" | "fallback">): boolean {
  return measure.kind === "none" && (fallback === ALL_NODES_LOST || fallback === NODES_REFUSE);
}

/** Why hasNoScrubTarget() holds. */
export function noTargetOf({ fallback }: Pick<Plan, "fallback">): NoTarget {
  return fallback === NODES_REFUSE ? NODES_REFUSE : ALL_NODES_LOST;
}

function withdraw(ban: Ban, reason: string, wallMs: number): Ban {
  return { ...withoutDiversion(ban), state: "withdrawn", withdrawnAt: wallMs, retiring: [], reason };
}

/** The only place where virtual and real bans differ. Empty: nothing is announced. */
export function wantedRoutes(ban: Ban): readonly Route[] {
  if (!isReal(ban)) return [];
  const routes = routesOf(ban.measure, ban.prefix);
  return ban.retiring.length === 0 ? routes : [...routes, ...ban.retiring];
}

/** The prefix that a hook is to divert for the ban; null: none, as of virtual bans. */
export function wantedDiversion(ban: Ban): Prefix | null {
  return isReal(ban) && ban.measure.kind === "divert" ? (ban.measure.diversion ?? null) : null;
}

/** Whether the wanted routes changed. */
export function haveRoutesChanged(ban: Ban, previous: Ban): boolean {
  return (
    ban.state !== previous.state ||
    ban.dryRun !== previous.dryRun ||
    ban.measure !== previous.measure ||
    ban.retiring !== previous.retiring ||
    ban.retiringDiversion !== previous.retiringDiversion
  );
}

/** `192.0.2.1/32 next-hop 192.0.2.254`; where there is no route yet, or no speaker: `192.0.2.1/32 blackhole`. */
export function doingText({ measure, prefix, method }: Ban): string {
  return measureText(measure) || `${prefix.text} ${method}`;
}
