import { expect, test } from "bun:test";
import type { MutantResult, Outcome } from "./mutant-run.ts";
import { comparisonOf } from "./report.ts";

function result(id: string, outcome: Outcome, path = "src/net/prefix.ts"): MutantResult {
  return {
    ...{ id, outcome, path, line: Number(id), kind: "boundary", start: 0, end: 1, replacement: "<=" },
    ...{ original: "a < b", mutated: "a <= b", killedBy: null, testsRun: 1, seconds: 1 },
  };
}

test("two runs are compared by the mutants of both, wherever their files are", () => {
  const before = [result("1", "killed"), result("2", "timed out"), result("3", "survived"), result("4", "killed")];
  const now = [
    result("1", "survived", "src/x.ts"),
    result("2", "killed"),
    result("3", "killed"),
    result("5", "survived"),
  ];
  expect(comparisonOf(now, before).split("\n")).toEqual([
    "before: 75.0 % of 4 noticed; now: 50.0 % of 4",
    "of the 3 mutants in both: before 66.7 %, now 66.7 %",
    "noticed before, and not now: 1",
    "src/x.ts:1: survived (boundary)",
    "  - a < b",
    "  + a <= b",
  ]);
});
