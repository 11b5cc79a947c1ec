/**
 * A ban: one prefix, mostly a single address, whose traffic is dropped, filtered or diverted for a bounded time
 * (docs/interface.md#ban-states). Pure: what an event makes of a ban. Knows nothing of tables, databases, configuration
 * or BGP.
 */
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Metric } from "../traffic/rates.ts";
import type { Route } from "./announcer.ts";
import type { Ladder, Method } from "./escalation.ts";
import { isSameMeasure, type Measure, routeKey, routesOf } from "./measure.ts";

export interface Ban {
  readonly id: string;
  /** The address, or the first one of the prefix. */
  readonly target: IpAddress;
  readonly prefix: Prefix;
  readonly state: "active" | "withdrawn" | "rejected";
  /** Virtual: recorded, never announced. */
  readonly dryRun: boolean;
  /** Asked for by an operator; such a ban outlasts its attacks. */
  readonly manual: boolean;
  /** The attack that it began with; null for an order. */
  readonly attackId: string | null;
  /** Attacks in progress on the prefix, of either direction: they keep it in force. */
  readonly heldBy: readonly string[];
  readonly metric: Metric | null;
  /** Of the attack at the ban's start; 0 for an order. */
  readonly rate: number;
  readonly threshold: number;
  /** What it does, or, while it only watches, does next. */
  readonly method: Method;
  readonly measure: Measure;
  /** Routes of the measure before, which stay until those of this one are out. */
  readonly retiring: readonly Route[];
  /** null: none is configured. */
  readonly escalation: Ladder | null;
  /** The rung it stands on. */
  readonly step: number;
  /** Why it does not what its rung says; null: it does. */
  readonly fallback: string | null;
  /** How many bans of the prefix ended shortly before its next one began. */
  readonly repeat: number;
  /** Wall clock, ms: it stays until then, also when its attack seems over; null: it ends with its attack. */
  readonly holdUntil: number | null;
  /** Wall clock, ms. */
  readonly startedAt: number;
  /** `startedAt`, moved with the wall clock: what the rungs are counted from. */
  readonly countedFrom: number;
  readonly expiresAt: number;
  readonly withdrawnAt: number | null;
  /** Why rejected or withdrawn. */
  readonly reason: string | null;
}

/** What is to be done, of everything that can be done. */
export type Plan = Pick<Ban, "step" | "method" | "measure" | "fallback">;

/** The reasons of a ban that an operator lifted, of one whose attack is over, and of one whose time is. */
export const MANUAL_UNBAN = "manual unban";
export const ATTACK_ENDED = "attack ended";
/** Of a ban that was diverted, or would have been: nobody is left to divert to. */
export const ALL_NODES_LOST = "all scrubbing nodes lost";
export const TTL_EXPIRED = "ttl expired";

/** What others want to hear of a ban, also when it is only pushed on; `previous` is null for a new one. */
export interface BanChange {
  readonly ban: Ban;
  readonly previous: Ban | null;
}

export type BanEvent =
  /** The attack goes on: the expiry is pushed on. */
  | { readonly kind: "attack_lasts"; readonly attackId: string; readonly ttlSeconds: number }
  | { readonly kind: "attack_ended"; readonly attackId: string }
  /** An operator asked again for a ban that is already there. */
  | { readonly kind: "refreshed"; readonly ttlSeconds: number }
  | { readonly kind: "unbanned" }
  /** Time went by. */
  | { readonly kind: "clock" }
  /** The wall clock was set: what is left of the ban's time stays as it was. */
  | { readonly kind: "clock_stepped"; readonly byMs: number }
  /** A rung is due, the method was refused, or more is known of the attack. `isOut`: neighbors have what is done now. */
  | { readonly kind: "planned"; readonly plan: Plan; readonly isOut: boolean }
  /** Neighbors have what is done now: what was done before is not needed any more. */
  | { readonly kind: "announced" }
  /** Its attack is spread over a wider prefix now. `isOut`: neighbors have what is done for the one before. */
  | { readonly kind: "moved"; readonly prefix: Prefix; readonly plan: Plan; readonly isOut: boolean }
  /** The configuration changed, and there may be no such ban any more. */
  | { readonly kind: "disallowed"; readonly reason: string }
  /** The configuration changed: whether bans are virtual now, and what is to be done. */
  | {
      readonly kind: "policy";
      readonly dryRun: boolean;
      readonly escalation: Ladder | null;
      readonly plan: Plan;
      readonly isOut: boolean;
    };

/** The expiry moves in steps, so that a ban that is pushed on is not written ten times a second. */
const EXPIRY_STEP_MS = 10_000;

/** Returns the same object when nothing changes. A ban that is not active never changes again. */
export function next(ban: Ban, event: BanEvent, wallMs: number): Ban {
  if (ban.state !== "active") return ban;
  if ("plan" in event && isForsaken(event.plan)) return withdraw(ban, ALL_NODES_LOST, wallMs);
  switch (event.kind) {
    case "attack_lasts":
      return pushOn(ban, event.attackId, event.ttlSeconds, wallMs);
    case "attack_ended":
      return attackEnded(ban, event.attackId, wallMs);
    case "refreshed":
      return { ...ban, manual: true, expiresAt: Math.max(ban.expiresAt, wallMs + event.ttlSeconds * 1000) };
    case "unbanned":
      return withdraw(ban, MANUAL_UNBAN, wallMs);
    case "clock":
      return afterTime(ban, wallMs);
    case "clock_stepped":
      return stepped(ban, event.byMs);
    case "planned":
      return carryOut(ban, event.plan, event.isOut);
    case "announced":
      return ban.retiring.length === 0 ? ban : { ...ban, retiring: [] };
    case "moved":
      return moved(ban, event);
    case "disallowed":
      return withdraw(ban, event.reason, wallMs);
    case "policy":
      return underPolicy(ban, event);
    default:
      return event satisfies never;
  }
}

function pushOn(ban: Ban, attackId: string, ttlSeconds: number, wallMs: number): Ban {
  const expiresAt = wallMs + ttlSeconds * 1000;
  const step = Math.min(EXPIRY_STEP_MS, ttlSeconds * 250);
  const isKnown = ban.heldBy.includes(attackId);
  if (isKnown && expiresAt - ban.expiresAt < step) return ban;
  const heldBy = isKnown ? ban.heldBy : [...ban.heldBy, attackId];
  return { ...ban, heldBy, expiresAt: Math.max(ban.expiresAt, expiresAt) };
}

/** The ban of two attacks, one a direction, goes on until both are over. */
function attackEnded(ban: Ban, attackId: string, wallMs: number): Ban {
  if (!ban.heldBy.includes(attackId)) return ban;
  return endIfOver({ ...ban, heldBy: ban.heldBy.filter((id) => id !== attackId) }, wallMs);
}

function afterTime(ban: Ban, wallMs: number): Ban {
  return wallMs >= ban.expiresAt ? withdraw(ban, TTL_EXPIRED, wallMs) : endIfOver(ban, wallMs);
}

/** Nobody asks for it any more, and it need not be held either. */
function endIfOver(ban: Ban, wallMs: number): Ban {
  if (ban.manual || ban.heldBy.length > 0) return ban;
  return ban.holdUntil !== null && wallMs < ban.holdUntil ? ban : withdraw(ban, ATTACK_ENDED, wallMs);
}

function stepped(ban: Ban, byMs: number): Ban {
  return {
    ...ban,
    countedFrom: ban.countedFrom + byMs,
    expiresAt: ban.expiresAt + byMs,
    holdUntil: ban.holdUntil === null ? null : ban.holdUntil + byMs,
  };
}

/** Make before break: what is out now stays beside what is to come, but for routes that it takes the place of. */
function carryOut(ban: Ban, plan: Plan, isOut: boolean): Ban {
  if (isSameMeasure(ban.measure, plan.measure)) {
    const isSame = ban.step === plan.step && ban.method === plan.method && ban.fallback === plan.fallback;
    return isSame ? ban : { ...ban, ...plan, measure: ban.measure };
  }
  return { ...ban, ...plan, retiring: retiringRoutes(ban, { ...ban, ...plan }, isOut) };
}

/** Make before break here too: what is out for the old prefix stays until the new one's routes are. */
function moved(ban: Ban, { prefix, plan, isOut }: Extract<BanEvent, { kind: "moved" }>): Ban {
  if (prefix.text === ban.prefix.text) return carryOut(ban, plan, isOut);
  const after = { ...ban, ...plan, prefix, target: prefix.address };
  return { ...after, retiring: retiringRoutes(ban, after, isOut) };
}

function retiringRoutes(ban: Ban, after: Ban, isOut: boolean): readonly Route[] {
  if (ban.dryRun || after.measure.kind === "none") return [];
  // Of two that are not out the older one may have been: of three, the one in the middle goes.
  const out = isOut || ban.retiring.length === 0 ? routesOf(ban.measure, ban.prefix) : ban.retiring;
  const replaced = new Set(routesOf(after.measure, after.prefix).map(routeKey));
  return out.filter((route) => !replaced.has(routeKey(route)));
}

function underPolicy(ban: Ban, policy: Extract<BanEvent, { kind: "policy" }>): Ban {
  const { dryRun, escalation } = policy;
  const planned = carryOut(ban, policy.plan, policy.isOut);
  const isSame = planned.dryRun === dryRun && JSON.stringify(planned.escalation) === JSON.stringify(escalation);
  if (isSame) return planned;
  return { ...planned, escalation, dryRun, retiring: dryRun ? [] : planned.retiring };
}

/** There is nobody to divert to, and nothing is done instead: such a ban is over, or never begins. */
export function isForsaken({ measure, fallback }: Pick<Plan, "measure" | "fallback">): boolean {
  return measure.kind === "none" && fallback === ALL_NODES_LOST;
}

function withdraw(ban: Ban, reason: string, wallMs: number): Ban {
  return { ...ban, state: "withdrawn", withdrawnAt: wallMs, retiring: [], reason };
}

/** The one place where a virtual ban and a real one part. Empty: nothing is to be announced for it. */
export function wantedRoutes(ban: Ban): readonly Route[] {
  if (ban.state !== "active" || ban.dryRun) return [];
  const routes = routesOf(ban.measure, ban.prefix);
  return ban.retiring.length === 0 ? routes : [...routes, ...ban.retiring];
}

/** Whether other routes are wanted than before. */
export function hasOtherRoutes(ban: Ban, previous: Ban): boolean {
  return (
    ban.state !== previous.state ||
    ban.dryRun !== previous.dryRun ||
    ban.measure !== previous.measure ||
    ban.retiring !== previous.retiring
  );
}
