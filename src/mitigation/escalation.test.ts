import { expect, test } from "bun:test";
import { dueStep, isLessSevere, type Ladder, methodOf, OVER_THRESHOLD_MS } from "./escalation.ts";

const LADDER: Ladder = [
  { afterSeconds: 0, action: "none" },
  { afterSeconds: 10, action: "flowspec" },
  { afterSeconds: 60, action: "blackhole" },
];

const due = (elapsedMs: number, isManual = false) =>
  dueStep(LADDER, { elapsedMs, isManual, step: 0, overThresholdMs: 0, isEased: false });

test("a rung that waits for an attack that is not held is climbed after some time of that, one by one, and kept", () => {
  const ladder: Ladder = [
    { afterSeconds: 0, action: "scrub" },
    { afterSeconds: 10, action: "flowspec", unlessHeld: true },
    { afterSeconds: 20, action: "divert", unlessHeld: true },
    { afterSeconds: 600, action: "blackhole" },
  ];
  const step = (seconds: number, present: number, overThresholdMs: number, isEased = false) =>
    dueStep(ladder, { elapsedMs: seconds * 1000, isManual: false, step: present, overThresholdMs, isEased });
  expect(step(300, 0, OVER_THRESHOLD_MS - 1)).toBe(0);
  expect(step(9, 0, OVER_THRESHOLD_MS)).toBe(0);
  expect(step(10, 0, OVER_THRESHOLD_MS)).toBe(1);
  expect(step(300, 0, OVER_THRESHOLD_MS)).toBe(1);
  expect(step(300, 1, 0)).toBe(1);
  expect(step(300, 1, OVER_THRESHOLD_MS)).toBe(2);
  expect(step(19, 1, OVER_THRESHOLD_MS)).toBe(1);
  expect(step(600, 0, 0)).toBe(3);
  // Back by one, and never from what time alone gives.
  expect([step(300, 2, 0, true), step(300, 1, 0, true), step(300, 0, 0, true)]).toEqual([1, 0, 0]);
  expect(step(600, 3, 0, true)).toBe(3);
  // What comes in is below the thresholds: an older reading of what got through does not climb at once.
  expect(step(300, 2, OVER_THRESHOLD_MS, true)).toBe(1);
});

test("the highest due rung counts, from its second on", () => {
  expect([0, 9999, 10_000, 59_999, 60_000, 1e9].map((ms) => due(ms))).toEqual([0, 0, 1, 1, 2, 2]);
  expect(due(-5000)).toBe(0);
});

test("a manual ban does not only watch", () => {
  expect([0, 60_000].map((ms) => due(ms, true))).toEqual([1, 2]);
});

test("a rung that watches is named after what comes next", () => {
  expect([0, 1, 2].map((step) => methodOf(LADDER, step))).toEqual(["flowspec", "flowspec", "blackhole"]);
});

test("severity rises from watching to dropping all", () => {
  const actions = ["none", "flowspec", "divert", "blackhole"] as const;
  expect(actions.map((action) => actions.filter((other) => isLessSevere(other, action)))).toEqual([
    [],
    ["none"],
    ["none", "flowspec"],
    ["none", "flowspec", "divert"],
  ]);
});
