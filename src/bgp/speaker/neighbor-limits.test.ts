import { expect, test } from "bun:test";
import type { RouteFamily } from "../route-family.ts";
import {
  LEARN_MIN_MS,
  NeighborLimits,
  RECHECK_MAX_MS,
  RECHECK_MIN_MS,
  type RouteCounts,
  TAKEN_MS,
} from "./neighbor-limits.ts";

const A = "192.0.2.1";
const UNICAST = "ipv4-unicast";
const RULES = "ipv4-flowspec";

/** A neighbor with limits on a simulated clock: over one it ends its session, and is back at once. */
class Router {
  readonly limits = new NeighborLimits();
  nowMs = 0;
  readonly endedAtMs: number[] = [];
  /** Of each family. */
  wanted: RouteCounts = new Map();
  takes: ReadonlyMap<RouteFamily, number> = new Map();
  /** Whether its notification has family and limit (RFC 4486, 4). */
  isPrecise = false;

  get ended(): number {
    return this.endedAtMs.length;
  }

  allowed(family: RouteFamily): number {
    return this.limits.limits().find((limit) => limit.family === family)?.routes ?? Number.POSITIVE_INFINITY;
  }

  /** Until then, a second at a time. */
  run(ms: number): void {
    for (const untilMs = this.nowMs + ms; this.nowMs < untilMs; this.nowMs += 1_000) {
      this.limits.observe(new Map([[A, this.wanted]]), this.nowMs);
      for (let family = this.#over(); family !== undefined; family = this.#over()) this.#end(family);
    }
  }

  #end(family: RouteFamily): void {
    this.endedAtMs.push(this.nowMs);
    const limit = this.isPrecise ? { family, routes: this.takes.get(family) ?? 0 } : null;
    this.limits.limitReached(A, limit, this.wanted, this.nowMs);
  }

  #over(): RouteFamily | undefined {
    for (const [family, limit] of this.takes) {
      if (Math.min(this.wanted.get(family) ?? 0, this.allowed(family)) > limit) return family;
    }
    return undefined;
  }
}

test("a limit that the neighbor names applies at once, to its family alone", () => {
  const router = new Router();
  router.isPrecise = true;
  router.takes = new Map([[RULES, 1000]]);
  router.wanted = new Map([
    [UNICAST, 5000],
    [RULES, 1500],
  ]);
  router.run(1_000);
  expect(router.limits.limits()).toEqual([{ neighbor: A, family: RULES, routes: 1000 }]);
  router.run(RECHECK_MIN_MS - 10_000);
  expect(router.ended).toBe(1);
});

test.each([
  [5, 9, 2],
  [0, 9, 4],
  [8, 9, 3],
  [700, 1500, 6],
  [1499, 1500, 6],
])(
  "a limit of %p that is not named is found from %p routes, with at most %p sessions ended",
  (takes, wanted, ended) => {
    const router = new Router();
    router.takes = new Map([[UNICAST, takes]]);
    router.wanted = new Map([[UNICAST, wanted]]);
    router.run(RECHECK_MIN_MS);
    expect(router.allowed(UNICAST)).toBe(takes);
    expect(router.ended).toBeLessThanOrEqual(ended);
  },
);

test("a limit is known at the first session that ended, if one route less was taken", () => {
  const router = new Router();
  router.takes = new Map([[UNICAST, 5]]);
  router.wanted = new Map([[UNICAST, 5]]);
  router.run(2 * TAKEN_MS);
  router.wanted = new Map([
    [UNICAST, 6],
    [RULES, 0],
  ]);
  router.run(RECHECK_MIN_MS - 1_000);
  expect(router.ended).toBe(1);
  expect(router.limits.limits()).toEqual([{ neighbor: A, family: UNICAST, routes: 5 }]);
});

test("limits of two families at once are found by and by, though the neighbor does not say which one was reached", () => {
  const router = new Router();
  router.takes = new Map([
    [UNICAST, 5],
    [RULES, 3],
  ]);
  router.wanted = new Map([
    [UNICAST, 9],
    [RULES, 9],
  ]);
  router.run(60_000);
  expect([router.allowed(UNICAST) <= 5, router.allowed(RULES)]).toEqual([true, 3]);
  router.run(12 * RECHECK_MIN_MS);
  expect([router.allowed(UNICAST), router.allowed(RULES)]).toEqual([5, 3]);
  expect(router.ended).toBeLessThan(12);
});

test("one more route is tried after an hour, then after twice as long each time, and after a day at most", () => {
  const router = new Router();
  router.isPrecise = true;
  router.takes = new Map([[UNICAST, 5]]);
  router.wanted = new Map([[UNICAST, 9]]);
  router.run(1_000);
  router.run(120 * RECHECK_MIN_MS);
  const pauses = router.endedAtMs.slice(1).map((atMs, i) => atMs - (router.endedAtMs[i] ?? 0));
  expect(pauses.map((ms) => ms / RECHECK_MIN_MS)).toEqual([1, 2, 4, 8, 16, 24, 24, 24]);
  expect(RECHECK_MAX_MS).toBe(24 * RECHECK_MIN_MS);
});

test("all routes go out again when one more than the limit was taken", () => {
  const router = new Router();
  router.takes = new Map([[UNICAST, 5]]);
  router.wanted = new Map([[UNICAST, 9]]);
  router.run(60_000);
  router.takes = new Map();
  router.run(4 * RECHECK_MIN_MS);
  expect(router.limits.limits()).toEqual([]);
});

test("with fewer routes than the limit nothing is tried", () => {
  const router = new Router();
  router.isPrecise = true;
  router.takes = new Map([[UNICAST, 5]]);
  router.wanted = new Map([[UNICAST, 9]]);
  router.run(1_000);
  router.wanted = new Map([[UNICAST, 5]]);
  router.run(48 * RECHECK_MIN_MS);
  expect([router.ended, router.allowed(UNICAST)]).toEqual([1, 5]);
});

test("a limit that was lowered below what was taken before is found again", () => {
  const router = new Router();
  router.takes = new Map([[UNICAST, 8]]);
  router.wanted = new Map([[UNICAST, 9]]);
  router.run(600_000);
  router.takes = new Map([[UNICAST, 3]]);
  router.run(600_000);
  expect(router.allowed(UNICAST)).toBe(3);
});

test("a limit of an earlier process applies until it is tried again, and others are forgotten with their neighbor", () => {
  const router = new Router();
  router.takes = new Map([[UNICAST, 5]]);
  router.wanted = new Map([[UNICAST, 9]]);
  router.limits.restore({ neighbor: A, family: UNICAST, routes: 5 }, 0);
  router.run(RECHECK_MIN_MS - LEARN_MIN_MS);
  expect([router.ended, router.allowed(UNICAST)]).toEqual([0, 5]);
  router.limits.keep(new Set([A]));
  expect(router.allowed(UNICAST)).toBe(5);
  router.limits.keep(new Set());
  expect(router.limits.limits()).toEqual([]);
});

test("a limit that another brain found holds from the begin, and is corrected as the own one would be", () => {
  const router = new Router();
  router.takes = new Map([[RULES, 100]]);
  router.wanted = new Map([[RULES, 150]]);
  router.limits.suggest({ neighbor: A, family: RULES, routes: 100 }, 0);
  router.run(RECHECK_MIN_MS - 1_000);
  expect([router.ended, router.allowed(RULES)]).toEqual([0, 100]);
  router.takes = new Map();
  router.run(RECHECK_MIN_MS + 10_000);
  expect([router.ended, router.allowed(RULES)]).toEqual([0, Number.POSITIVE_INFINITY]);
});

test("and not against what this brain found, or what the neighbor has taken of it", () => {
  const router = new Router();
  router.isPrecise = true;
  router.takes = new Map([[RULES, 100]]);
  router.wanted = new Map([
    [RULES, 150],
    [UNICAST, 50],
  ]);
  router.run(20_000);
  expect(router.limits.known()).toEqual([{ neighbor: A, family: RULES, routes: 100 }]);
  router.limits.suggest({ neighbor: A, family: RULES, routes: 10 }, router.nowMs);
  router.limits.suggest({ neighbor: A, family: UNICAST, routes: 49 }, router.nowMs);
  expect([router.allowed(RULES), router.allowed(UNICAST)]).toEqual([100, Number.POSITIVE_INFINITY]);
});
