/**
 * The routes of all bans as they are announced. A speaker keeps one route of a prefix: bans that share the route of a wider
 * prefix have one, and where bans want different ones of a prefix, the same ban's is announced as long as both last. Pure.
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

/** What announces bans, and what diverts for them. */
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
export function announcedRoutes(bans: Iterable<Ban>): readonly Route[] {
  const routes: Route[] = [];
  /** By the prefix of the route: its place in `routes`. */
  const places = new Map<string, { readonly at: number; best: Candidate }>();
  for (const ban of [...bans].sort(mostValuableFirst)) {
    for (const route of wantedRoutes(ban)) {
      if (route.kind === "flowspec") {
        routes.push(route);
        continue;
      }
      const place = places.get(route.prefix.text);
      const candidate = { ban, route };
      if (place === undefined) places.set(route.prefix.text, { at: routes.push(route) - 1, best: candidate });
      else {
        const [best, other] = isPreferred(candidate, place.best) ? [candidate, place.best] : [place.best, candidate];
        place.best = { ...best, route: forBoth(best.route, other.route) };
        routes[place.at] = place.best.route;
      }
    }
  }
  return routes;
}

/** A ban of the prefix itself before those within it, what is wanted now before what retires, then the older ban. */
function isPreferred(a: Candidate, b: Candidate): boolean {
  const [x, y] = [rank(a), rank(b)];
  return x === y ? isOlder(a.ban, b.ban) : x < y;
}

function rank({ ban, route }: Candidate): number {
  if (ban.retiring.includes(route)) return 2;
  return route.prefix.text === ban.prefix.text ? 0 : 1;
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
