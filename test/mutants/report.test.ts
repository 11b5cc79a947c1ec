import { expect, test } from "bun:test";
import type { MutantResult, Outcome } from "./mutant-run.ts";
import { comparisonOf, survivorsOf, tableOf } from "./report.ts";

function result(id: string, outcome: Outcome, path = "src/net/prefix.ts"): MutantResult {
  return {
    ...{ id, outcome, path, line: Number(id), kind: "boundary", start: 0, end: 1, replacement: "<=" },
    ...{ original: "a < b", mutated: "a <= b", killedBy: null, testsRun: 1, seconds: 1 },
  };
}

test("the table counts by folder, and what timed out as noticed", () => {
  const mutants = [
    result("1", "killed"),
    result("2", "survived"),
    result("3", "timed out"),
    result("4", "not covered", "src/edge/zones/zone.ts"),
  ];
  expect(tableOf(mutants).split("\n")).toEqual([
    "folder    mutants  killed  timed out  survived  not covered  noticed",
    "src/edge        1       0          0         0            1    0.0 %",
    "src/net         3       1          1         1            0   66.7 %",
    "all             4       1          1         1            1   50.0 %",
  ]);
});

test("survivors are listed by place, with the code before and after", () => {
  const mutants = [
    result("9", "survived"),
    result("2", "not covered"),
    result("1", "killed"),
    result("3", "timed out"),
  ];
  expect(survivorsOf(mutants).split("\n")).toEqual([
    "src/net/prefix.ts:2: not covered (boundary)",
    "  - a < b",
    "  + a <= b",
    "src/net/prefix.ts:9: survived (boundary)",
    "  - a < b",
    "  + a <= b",
  ]);
});

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

test("a run without mutants has no share", () => {
  expect(tableOf([])).toEndWith("-");
});
