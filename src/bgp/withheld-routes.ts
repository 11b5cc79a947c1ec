/** Which routes some neighbors do not get, since these take a limited number. Pure. */

import { type Mark, type MarkKind, type Marks, markOf } from "./neighbor-mark.ts";
import type { RouteFamily } from "./route-family.ts";
import { familyOfKey, type RouteKey } from "./route-path.ts";

interface MarkedRoute {
  readonly key: RouteKey;
  readonly marks: Marks;
}

/** The neighbor is sent at most this number of routes of the family. */
export interface RouteLimit {
  readonly neighbor: string;
  readonly family: RouteFamily;
  readonly routes: number;
}

/** The neighbor is sent at most this number of rules, IPv4 and IPv6 together. */
export interface RuleRoom {
  readonly neighbor: string;
  readonly rules: number;
}

/**
 * The marks of the routes beyond a limit or room, in addition to those that they have.
 * @param byValue the most valuable first, with the marks of those that are not to get them.
 */
export function marksBeyond(
  { limits, rooms }: { readonly limits: readonly RouteLimit[]; readonly rooms: readonly RuleRoom[] },
  byValue: readonly MarkedRoute[],
): ReadonlyMap<RouteKey, Marks> {
  const marks = new Map<RouteKey, Mark[]>();
  if (limits.length + rooms.length === 0) return marks;
  const byFamily = Map.groupBy(byValue, ({ key }) => familyOfKey(key));
  const rules = rooms.length === 0 ? [] : byValue.filter(({ key }) => familyOfKey(key).endsWith("flowspec"));
  const keep = (routes: readonly MarkedRoute[], neighbor: string, kind: MarkKind, count: number) => {
    const [mark, foreign] = [markOf(neighbor, kind), markOf(neighbor, "policy")];
    const own = routes.filter((route) => !route.marks.includes(foreign));
    for (const { key } of own.slice(count)) {
      const known = marks.get(key);
      if (known === undefined) marks.set(key, [mark]);
      else known.push(mark);
    }
  };
  for (const { neighbor, rules: count } of rooms) keep(rules, neighbor, "room", count);
  for (const { neighbor, family, routes } of limits) keep(byFamily.get(family) ?? [], neighbor, "limit", routes);
  return marks;
}

/** The limits that an earlier process of the service applied to routes that are still in the speaker. */
export function limitsOf(paths: readonly MarkedRoute[], neighbors: readonly string[]): readonly RouteLimit[] {
  const limits: RouteLimit[] = [];
  for (const [family, ofFamily] of Map.groupBy(paths, ({ key }) => familyOfKey(key))) {
    for (const neighbor of neighbors) {
      const limit = markOf(neighbor);
      const others = [markOf(neighbor, "policy"), markOf(neighbor, "room")];
      const own = ofFamily.filter(({ marks }) => !others.some((mark) => marks.includes(mark)));
      const sent = own.filter(({ marks }) => !marks.includes(limit));
      if (sent.length < own.length) limits.push({ neighbor, family, routes: sent.length });
    }
  }
  return limits;
}
