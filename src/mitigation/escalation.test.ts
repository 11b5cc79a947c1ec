import { expect, test } from "bun:test";
import { dueStep, isLessSevere, type Ladder, methodOf } from "./escalation.ts";

const LADDER: Ladder = [
  { afterSeconds: 0, action: "none" },
  { afterSeconds: 10, action: "flowspec" },
  { afterSeconds: 60, action: "blackhole" },
];

test("the highest due rung counts, from its second on", () => {
  expect([0, 9999, 10_000, 59_999, 60_000, 1e9].map((ms) => dueStep(LADDER, ms, false))).toEqual([0, 0, 1, 1, 2, 2]);
  expect(dueStep(LADDER, -5000, false)).toBe(0);
});

test("a manual ban does not only watch", () => {
  expect([0, 60_000].map((ms) => dueStep(LADDER, ms, true))).toEqual([1, 2]);
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
