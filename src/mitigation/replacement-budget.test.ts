import { expect, test } from "bun:test";
import { REPLACEMENT_MS, REPLACEMENTS_AT_ONCE, ReplacementBudget } from "./replacement-budget.ts";

const taken = (budget: ReplacementBudget, wallMs: number) => {
  let count = 0;
  while (budget.take(wallMs)) count++;
  return count;
};

test("a few at once, then one for each interval, and after a pause no more than at first", () => {
  const budget = new ReplacementBudget();
  expect(taken(budget, 5000)).toBe(REPLACEMENTS_AT_ONCE);
  expect(taken(budget, 5000 + REPLACEMENT_MS - 1)).toBe(0);
  expect(taken(budget, 5000 + REPLACEMENT_MS)).toBe(1);
  expect(taken(budget, 3_600_000)).toBe(REPLACEMENTS_AT_ONCE);
});

test("a wall clock that was set back leaves no attack waiting for it", () => {
  const budget = new ReplacementBudget();
  expect(taken(budget, 3_600_000)).toBe(REPLACEMENTS_AT_ONCE);
  expect(taken(budget, 1000)).toBe(REPLACEMENTS_AT_ONCE);
});
