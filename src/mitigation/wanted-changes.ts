/** Which routes bans announce or withdraw when they change. Pure. */
import { type Ban, wantedRoutes } from "./ban.ts";
import { anyRouteText, enclosingIn, routeKey } from "./measure.ts";

/** Routes as text, in one list. */
export const ROUTES_LISTED_MAX = 100;

export interface WantedChanges {
  readonly announces: readonly string[];
  readonly withdraws: readonly string[];
  /** Number of further ones in each list. */
  readonly moreAnnounced: number;
  readonly moreWithdrawn: number;
}

export const NO_CHANGES: WantedChanges = { announces: [], withdraws: [], moreAnnounced: 0, moreWithdrawn: 0 };

/** @param pairs each ban as it is and as it would be. A route with other attributes is announced again. */
export function wantedChanges(pairs: Iterable<readonly [before: Ban, after: Ban]>): WantedChanges {
  const [was, is] = [new Map<string, string>(), new Map<string, string>()];
  for (const [before, after] of pairs) {
    // A ban that stays may share the route of a wider prefix with one that ends.
    if (before === after && enclosingIn(before.measure, before.prefix) === null) continue;
    for (const route of wantedRoutes(before)) was.set(routeKey(route), anyRouteText(route));
    for (const route of wantedRoutes({ ...after, retiring: [] })) is.set(routeKey(route), anyRouteText(route));
  }
  const announces = [...is].flatMap(([key, text]) => (was.get(key) === text ? [] : [text]));
  const withdraws = [...was].flatMap(([key, text]) => (is.has(key) ? [] : [text]));
  return {
    announces: announces.slice(0, ROUTES_LISTED_MAX),
    withdraws: withdraws.slice(0, ROUTES_LISTED_MAX),
    moreAnnounced: Math.max(0, announces.length - ROUTES_LISTED_MAX),
    moreWithdrawn: Math.max(0, withdraws.length - ROUTES_LISTED_MAX),
  };
}
