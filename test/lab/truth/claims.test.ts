import { describe, expect, test } from "bun:test";
import { ContradictionTimes, contradictions, type Observation, saidReach } from "./claims.ts";

const VICTIM = "203.0.113.9";
const HELD = "1 attack: Route at 2 of 2 routers";

function observation(changes: {
  readonly state?: string;
  readonly situation?: string;
  /** By neighbor. */
  readonly isRouted?: readonly boolean[];
  readonly victims?: readonly string[];
  readonly announced?: boolean;
}): Observation {
  const { state = "Blackhole announced", situation = HELD, isRouted = [true, true] } = changes;
  const announced = changes.announced ?? isRouted.includes(true);
  return {
    screen: { situation, attacks: [{ victim: VICTIM, state }] },
    api: { victims: changes.victims ?? [VICTIM], announced: new Map([[VICTIM, announced]]) },
    routed: isRouted.map((isThere) => new Set(isThere ? [VICTIM] : [])),
  };
}

test.each([
  ["Blackhole announced", 2],
  ["FlowSpec rules at 1 of 2 routers", 1],
  ["Blackhole not announced", 0],
  ["No mitigation", 0],
  ["FlowSpec: waiting for rules", 0],
  ["Ban ended", 0],
  ["Blackhole: announcing", null],
  ["Blackhole: not known", null],
  ["Watch only", null],
] as const)("the words %p claim %p of 2 neighbors", (state, claim) => {
  expect(saidReach(state, 2)).toBe(claim);
});

describe("what contradicts", () => {
  test.each([
    ["nothing", {}, []],
    ["announced, and no route", { isRouted: [false, false] }, ["0 of 2 have a route", "the worst has a route at 0"]],
    [
      "announced, and one neighbor lacks it",
      { isRouted: [true, false] },
      ["1 of 2 have", "the worst has a route at 1"],
    ],
    ["not announced, and a route", { state: "Blackhole not announced" }, ["2 of 2 have a route"]],
    ["at one, and both have it", { state: "Blackhole at 1 of 2 routers" }, ["2 of 2 have a route"]],
    ["still on its way: no claim", { state: "Blackhole: announcing", isRouted: [true, true] }, []],
    ["the first line", { situation: "1 attack: No router has the route" }, ["the worst has a route at 2 of 2"]],
    ["an attack that is over", { victims: [] }, ["not an attack"]],
    ["an attack that is not shown", { victims: [VICTIM, "203.0.113.8"] }, ["not on the screen", "at 0 of 2"]],
    ["the API", { announced: false }, ["announced: false"]],
  ] as const)("%s", (_, changes, parts) => {
    const found = contradictions(observation(changes));
    expect(found).toHaveLength(parts.length);
    for (const [i, part] of parts.entries()) expect(found[i]).toContain(part);
  });
});

test("a contradiction's time is that without a break, and counts while it lasts", () => {
  const times = new ContradictionTimes();
  times.add(["a"], 0);
  times.add(["a", "b"], 100);
  times.add(["b"], 200);
  times.add(["a", "b"], 300);
  expect(times.lengthsMs).toEqual([100]);
  times.add(["b"], 500);
  expect(times.longerThan(300)).toEqual([["b", 400]]);
  times.add([], 600);
  expect(times.lengthsMs.toSorted((a, b) => a - b)).toEqual([0, 100, 400]);
  expect(times.longerThan(300)).toEqual([["b", 400]]);
});
