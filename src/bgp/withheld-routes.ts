/** Which routes some neighbors do not get, since these take a limited number. Pure. */

import type { Mark, Marks } from "./neighbor-mark.ts";
import type { RouteFamily } from "./route-family.ts";
import { familyOfKey, type RouteKey } from "./route-path.ts";

/** The neighbor of this mark is sent at most this number of routes of the family. */
export interface RouteLimit {
  readonly mark: Mark;
  readonly family: RouteFamily;
  readonly routes: number;
}

/** The marks of the routes beyond a limit. @param byValue the most valuable first. */
export function marksBeyond(limits: readonly RouteLimit[], byValue: Iterable<RouteKey>): ReadonlyMap<RouteKey, Marks> {
  const marks = new Map<RouteKey, Mark[]>();
  if (limits.length === 0) return marks;
  const keysByFamily = Map.groupBy(byValue, familyOfKey);
  for (const { mark, family, routes } of limits) {
    for (const key of keysByFamily.get(family)?.slice(routes) ?? []) {
      const known = marks.get(key);
      if (known === undefined) marks.set(key, [mark]);
      else known.push(mark);
    }
  }
  for (const several of marks.values()) several.sort();
  return marks;
}

/** The limits that an earlier process of the service applied to routes that are still in the speaker. */
export function limitsOf(paths: readonly { readonly key: RouteKey; readonly marks: Marks }[]): readonly RouteLimit[] {
  const limits: RouteLimit[] = [];
  for (const [family, ofFamily] of Map.groupBy(paths, ({ key }) => familyOfKey(key))) {
    const withheld = new Map<Mark, number>();
    for (const mark of ofFamily.flatMap(({ marks }) => marks)) withheld.set(mark, (withheld.get(mark) ?? 0) + 1);
    for (const [mark, count] of withheld) limits.push({ mark, family, routes: ofFamily.length - count });
  }
  return limits;
}
