/**
 * A ban: one address whose traffic is drawn to a discard next hop for a bounded time (interface 2.6, 3.1).
 * Pure: what an event makes of a ban. Knows nothing of tables, databases or BGP.
 */
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Metric } from "../traffic/rates.ts";
import type { UnicastRoute } from "./announcer.ts";

export interface Ban {
  readonly id: string;
  readonly target: IpAddress;
  readonly prefix: Prefix;
  readonly method: "blackhole";
  readonly state: "active" | "withdrawn" | "rejected";
  /** Virtual: recorded, never announced. */
  readonly dryRun: boolean;
  /** Asked for by an operator; such a ban outlasts its attack. */
  readonly manual: boolean;
  /** The attack that keeps it alive; null for a manual ban without one. */
  readonly attackId: string | null;
  readonly metric: Metric | null;
  /** Of the attack at the ban's start; 0 for a manual ban. */
  readonly rate: number;
  readonly threshold: number;
  /** null without a BGP speaker. */
  readonly route: UnicastRoute | null;
  /** Wall clock, ms. */
  readonly startedAt: number;
  readonly expiresAt: number;
  readonly withdrawnAt: number | null;
  /** Why rejected or withdrawn. */
  readonly reason: string | null;
}

/** The reason of a ban that an operator lifted. */
export const MANUAL_UNBAN = "manual unban";

/** What others want to hear of a ban, also when it is only pushed on; `previous` is null for a new one. */
export interface BanChange {
  readonly ban: Ban;
  readonly previous: Ban | null;
}

export type BanEvent =
  /** The attack goes on: the expiry is pushed on. */
  | { readonly kind: "attack_lasts"; readonly attackId: string; readonly ttlSeconds: number }
  | { readonly kind: "attack_ended" }
  /** An operator asked again for a ban that is already there. */
  | { readonly kind: "refreshed"; readonly ttlSeconds: number }
  | { readonly kind: "unbanned" }
  /** Time went by. */
  | { readonly kind: "clock" }
  /** The wall clock was set: what is left of the ban's time stays as it was. */
  | { readonly kind: "clock_stepped"; readonly byMs: number }
  /** The configuration changed: what the target is now, and whether bans are virtual now. */
  | {
      readonly kind: "policy";
      readonly isInNetworks: boolean;
      readonly isWhitelisted: boolean;
      readonly dryRun: boolean;
      readonly route: UnicastRoute | null;
    };

/** The expiry moves in steps, so that a ban that is pushed on is not written ten times a second. */
const EXPIRY_STEP_MS = 10_000;

/** Returns the same object when nothing changes. A ban that is not active never changes again. */
export function next(ban: Ban, event: BanEvent, wallMs: number): Ban {
  if (ban.state !== "active") return ban;
  switch (event.kind) {
    case "attack_lasts":
      return pushOn(ban, event.attackId, event.ttlSeconds, wallMs);
    case "attack_ended":
      return ban.manual ? { ...ban, attackId: null } : withdraw(ban, "attack ended", wallMs);
    case "refreshed":
      return { ...ban, manual: true, expiresAt: Math.max(ban.expiresAt, wallMs + event.ttlSeconds * 1000) };
    case "unbanned":
      return withdraw(ban, MANUAL_UNBAN, wallMs);
    case "clock":
      return wallMs >= ban.expiresAt ? withdraw(ban, "ttl expired", wallMs) : ban;
    case "clock_stepped":
      return { ...ban, expiresAt: ban.expiresAt + event.byMs };
    case "policy":
      return underPolicy(ban, event, wallMs);
    default:
      return event satisfies never;
  }
}

function pushOn(ban: Ban, attackId: string, ttlSeconds: number, wallMs: number): Ban {
  const expiresAt = wallMs + ttlSeconds * 1000;
  const step = Math.min(EXPIRY_STEP_MS, ttlSeconds * 250);
  if (ban.attackId === attackId && expiresAt - ban.expiresAt < step) return ban;
  return { ...ban, attackId, expiresAt: Math.max(ban.expiresAt, expiresAt) };
}

function underPolicy(ban: Ban, policy: Extract<BanEvent, { kind: "policy" }>, wallMs: number): Ban {
  if (policy.isWhitelisted) return withdraw(ban, "target is whitelisted", wallMs);
  if (!policy.isInNetworks) return withdraw(ban, "target left configured networks", wallMs);
  if (ban.dryRun === policy.dryRun && sameRoute(ban.route, policy.route)) return ban;
  return { ...ban, dryRun: policy.dryRun, route: policy.route };
}

function withdraw(ban: Ban, reason: string, wallMs: number): Ban {
  return { ...ban, state: "withdrawn", withdrawnAt: wallMs, reason };
}

function sameRoute(a: UnicastRoute | null, b: UnicastRoute | null): boolean {
  return routeText(a) === routeText(b);
}

/** The route as operators write it: `192.0.2.1/32 next-hop 192.0.2.254 community 65535:666 local-pref 200`. */
export function routeText(route: UnicastRoute | null): string {
  if (route === null) return "";
  const parts = [route.prefix.text, "next-hop", route.nextHop];
  if (route.communities.length > 0) parts.push("community", route.communities.join(" "));
  if (route.localPref > 0) parts.push("local-pref", String(route.localPref));
  return parts.join(" ");
}
