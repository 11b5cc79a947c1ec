import { describe, expect, test } from "bun:test";
import { ContradictionTimes, contradictions, type Observation, saysAnnounced } from "./claims.ts";

const VICTIM = "203.0.113.9";

function observation(changes: {
  readonly state?: string;
  readonly situation?: string;
  readonly isRouted?: boolean;
  readonly victims?: readonly string[];
  readonly announced?: boolean;
}): Observation {
  const { state = "Blackhole announced", situation = "1 attack, all held", isRouted = true } = changes;
  return {
    screen: { situation, attacks: [{ victim: VICTIM, state }] },
    api: { victims: changes.victims ?? [VICTIM], announced: new Map([[VICTIM, changes.announced ?? isRouted]]) },
    routed: new Set(isRouted ? [VICTIM] : []),
  };
}

test.each([
  ["Blackhole announced", true],
  ["FlowSpec rules announced to 1 of 2 neighbors", true],
  ["Blackhole not announced", false],
  ["No mitigation", false],
  ["Ban ended", false],
  ["Blackhole: announcing", null],
  ["Blackhole: not known", null],
  ["Watch only", null],
] as const)("the words %p claim %p", (state, claim) => {
  expect(saysAnnounced(state)).toBe(claim);
});

describe("what contradicts", () => {
  test.each([
    ["nothing", {}, []],
    ["announced, and no route", { isRouted: false, announced: false }, ["no route", "no route for 1"]],
    ["not announced, and a route", { state: "Blackhole not announced" }, ["has a route"]],
    ["still on its way: no claim", { state: "Blackhole: announcing" }, []],
    ["the first line", { situation: "1 attack, 1 not held" }, ["no route for 0"]],
    ["an attack that is over", { victims: [] }, ["not an attack"]],
    ["an attack that is not shown", { victims: [VICTIM, "203.0.113.8"] }, ["not on the screen", "no route for 1"]],
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
