/**
 * The routes of all bans as they are announced. A speaker keeps one route of a prefix: bans that share the route of a
 * wider prefix have one, and where bans want different ones of a prefix, the same one is announced as long as both
 * last. Pure.
 */
import type { Announcer, Route, UnicastRoute } from "./announcer.ts";
import { type Ban, wantedRoutes } from "./ban.ts";
import { mostValuableFirst } from "./ban-value.ts";
import { type Diverter, wantedDiversions } from "./diversion.ts";
import { isOlder } from "./enclosed-bans.ts";

interface Candidate {
  readonly ban: Ban;
  readonly route: UnicastRoute;
}

/** The parts that announce bans and divert for them. */
interface Carriers {
  readonly announcer: Announcer | null;
  readonly diversions: Diverter;
}

export function announce({ announcer, diversions }: Carriers, bans: Iterable<Ban>): void {
  const all = [...bans];
  announcer?.want(announcedRoutes(all));
  diversions.want(wantedDiversions(all));
}

/** The most valuable first. */
function announcedRoutes(bans: Iterable<Ban>): readonly Route[] {
  const routes: (Route | Candidate[])[] = [];
  const byPrefix = new Map<string, Candidate[]>();
  for (const ban of [...bans].sort(mostValuableFirst)) {
    for (const route of wantedRoutes(ban)) {
      if (route.kind === "flowspec") {
        routes.push(route);
        continue;
      }
      const candidate = { ban, route };
      const others = byPrefix.get(route.prefix.text);
      if (others !== undefined) others.push(candidate);
      else {
        const first = [candidate];
        byPrefix.set(route.prefix.text, first);
        routes.push(first);
      }
    }
  }
  return routes.map((each) => (Array.isArray(each) ? routeFor(each) : each));
}

/**
 * The route of a prefix, with the neighbors of all bans that want one of its method. Another method is left out as a
 * whole: a blackhole for the neighbors that take no narrower prefix must not reach the others.
 */
function routeFor(candidates: readonly Candidate[]): UnicastRoute {
  const own = candidates.find((candidate) => isOwn(candidate) && !isRetiring(candidate));
  const isDivert = own === undefined ? candidates.some(({ route }) => route.isDivert) : own.route.isDivert === true;
  const same = candidates.filter(({ route }) => (route.isDivert === true) === isDivert);
  // One that some neighbors are to get is not for those that take a narrower prefix.
  const whole = same.filter(({ route }) => route.encloses === undefined);
  const [best, ...others] = (whole.length === 0 ? same : whole).sort(mostPreferredFirst);
  return others.reduce((route, other) => forBoth(route, other.route), (best as Candidate).route);
}

/**
 * Routes that are wanted now come before those that retire, the terms of hostgroups before those of an order, which
 * would leave out what others need, then a ban of the prefix itself before those within it, then the older ban.
 */
function mostPreferredFirst(a: Candidate, b: Candidate): number {
  const preference = Number(isRetiring(a)) - Number(isRetiring(b)) || Number(isOrdered(a)) - Number(isOrdered(b));
  return preference || Number(isOwn(b)) - Number(isOwn(a)) || (isOlder(a.ban, b.ban) ? -1 : 1);
}

function isRetiring({ ban, route }: Candidate): boolean {
  return ban.retiring.includes(route);
}

function isOrdered({ route }: Candidate): boolean {
  return route.neighbors !== undefined || route.areCommunitiesOrdered === true;
}

function isOwn({ ban, route }: Candidate): boolean {
  return route.prefix.text === ban.prefix.text;
}

/** Each ban's neighbors have it. The same object where they do anyway. */
function forBoth(route: UnicastRoute, other: UnicastRoute): UnicastRoute {
  const isForSame = route.neighbors?.join() === other.neighbors?.join() && route.encloses === other.encloses;
  if (isForSame) return route;
  const { neighbors, encloses, ...rest } = route;
  const isForAll = neighbors === undefined || other.neighbors === undefined;
  const isForAny = encloses === undefined || other.encloses === undefined;
  return {
    ...rest,
    ...(isForAll ? {} : { neighbors: [...new Set([...neighbors, ...other.neighbors])].sort() }),
    ...(isForAny ? {} : { encloses: Math.max(encloses, other.encloses) }),
  };
}

/** When the last wanted route expires, if nothing extends it; null: there is none. */
export function routesUntilMs(bans: Iterable<Ban>): number | null {
  let last: number | null = null;
  for (const ban of bans) if (wantedRoutes(ban).length > 0) last = Math.max(last ?? 0, ban.expiresAt);
  return last;
}
