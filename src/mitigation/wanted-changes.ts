/** Which routes bans announce or withdraw when they change. Pure. */
import type { Route } from "./announcer.ts";
import { type Ban, wantedRoutes, withoutDiversion } from "./ban.ts";
import { wantedDiversions } from "./diversion.ts";
import { anyRouteText, enclosingIn, routeKey } from "./measure.ts";

/** Routes as text, in one list. */
export const ROUTES_LISTED_MAX = 100;

export interface WantedChanges {
  readonly announces: readonly string[];
  readonly withdraws: readonly string[];
  /** Number of further ones in each list. */
  readonly moreAnnounced: number;
  readonly moreWithdrawn: number;
  readonly diversions: DiversionChanges;
}

/** Prefixes, by what the hook is called for. */
export interface DiversionChanges {
  readonly begins: readonly string[];
  readonly ends: readonly string[];
  /** Ended and begun again, as what dry run begins, dry run ends. */
  readonly renews: readonly string[];
  /** Another program or web service is called for them from now on. */
  readonly moves: readonly string[];
  /** There is no hook any more that could end them. */
  readonly strands: readonly string[];
}

export const NO_DIVERSION_CHANGES: DiversionChanges = { begins: [], ends: [], renews: [], moves: [], strands: [] };

export const NO_CHANGES: WantedChanges = {
  ...{ announces: [], withdraws: [], moreAnnounced: 0, moreWithdrawn: 0 },
  diversions: NO_DIVERSION_CHANGES,
};

/** Addresses of the neighbors that are to get a route, as they and their policies are and would be. */
export interface Reach {
  before(route: Route): readonly string[];
  after(route: Route): readonly string[];
}

/**
 * @param pairs each ban as it is and as it would be. A route with other attributes is announced again.
 * @param reach null: neighbors stay as they are
 */
export function wantedChanges(
  pairs: Iterable<readonly [before: Ban, after: Ban]>,
  reach: Reach | null = null,
): WantedChanges {
  const [was, is] = [new Map<string, Route>(), new Map<string, Route>()];
  const all = [...pairs];
  for (const [before, after] of all) {
    // A ban that stays, with what retires of it, may share the route of a wider prefix with one that ends.
    if (before === after && reach === null && enclosingIn(before.measure, before.prefix) === null) continue;
    for (const route of wantedRoutes(before)) was.set(routeKey(route), route);
    const wanted = before === after ? after : { ...after, retiring: [] };
    for (const route of wantedRoutes(wanted)) is.set(routeKey(route), route);
  }
  const [announces, withdraws]: [string[], string[]] = [[], []];
  for (const [key, route] of is) {
    const [before, text] = [was.get(key), anyRouteText(route)];
    if (before === undefined || anyRouteText(before) !== text) announces.push(text);
    if (before === undefined || reach === null) continue;
    const [had, has] = [reach.before(before), reach.after(route)];
    if (anyRouteText(before) === text) announces.push(...textAt(route, without(has, had)));
    withdraws.push(...textAt(before, without(had, has)));
  }
  for (const [key, route] of was) if (!is.has(key)) withdraws.push(anyRouteText(route));
  return {
    announces: announces.slice(0, ROUTES_LISTED_MAX),
    withdraws: withdraws.slice(0, ROUTES_LISTED_MAX),
    diversions: diversionChanges(all),
    moreAnnounced: Math.max(0, announces.length - ROUTES_LISTED_MAX),
    moreWithdrawn: Math.max(0, withdraws.length - ROUTES_LISTED_MAX),
  };
}

/** `192.0.2.1/32 next-hop 192.0.2.254 at 198.51.100.1, 198.51.100.2`; empty: at none. */
function textAt(route: Route, neighbors: readonly string[]): string[] {
  return neighbors.length === 0 ? [] : [`${anyRouteText(route)} at ${neighbors.join(", ")}`];
}

function without(neighbors: readonly string[], others: readonly string[]): string[] {
  return neighbors.filter((address) => !others.includes(address));
}

/** As for routes, what retires is of before, and of after where the ban stays as it is. */
function diversionChanges(pairs: readonly (readonly [before: Ban, after: Ban])[]): DiversionChanges {
  const was = wantedDiversions(pairs.map(([before]) => before)).map(({ prefix }) => prefix.text);
  const wanted = pairs.map(([one, other]) => (one === other ? other : withoutDiversion(other)));
  const is = wantedDiversions(wanted).map(({ prefix }) => prefix.text);
  const [before, after] = [new Set(was), new Set(is)];
  return {
    ...NO_DIVERSION_CHANGES,
    begins: is.filter((text) => !before.has(text)),
    ends: was.filter((text) => !after.has(text)),
  };
}
