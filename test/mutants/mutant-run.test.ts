import { describe, expect, test } from "bun:test";
import type { Mutant } from "./draw.ts";
import { MutantRun } from "./mutant-run.ts";
import { type TestRequest, type Verdict, verdictOf } from "./test-process.ts";

const TEXT = "a < b";
const mutant: Mutant = {
  ...{ id: "1", path: "src/a.ts", line: 1, kind: "boundary", start: 2, end: 3, replacement: "<=" },
  ...{ original: TEXT, mutated: "a <= b" },
};

/** What each test says of the mutant; with `alone`, also without. */
function world(verdicts: Readonly<Record<string, Verdict>>, alone: Readonly<Record<string, Verdict[]>> = {}) {
  const ran: string[] = [];
  let file = TEXT;
  const run = async ({ directory, test }: TestRequest) => {
    ran.push(`${directory} ${test}${directory === "copy" ? `: ${file}` : ""}`);
    const verdict = directory === "copy" ? verdicts[test] : (alone[test]?.shift() ?? "passed");
    if (verdict === undefined) throw new Error("stopped");
    return { verdict, cpuSeconds: 1 };
  };
  const runner = new MutantRun({
    ...{ processes: { run }, unchanged: { directory: "unchanged" }, textOf: () => TEXT, testsMax: 3 },
    testsOf: () => Object.keys(verdicts),
  });
  const write = (_: string, text: string) => {
    file = text;
  };
  return { runner, ran, tryIt: () => runner.try(mutant, { directory: "copy", write }), file: () => file };
}

describe("a mutant", () => {
  test("is killed by the first test that fails; each test has passed without it, once", async () => {
    const { tryIt, ran, file } = world({ near: "passed", next: "failed", far: "failed" });
    expect(await tryIt()).toMatchObject({ outcome: "killed", killedBy: "next", testsRun: 2, path: "src/a.ts" });
    const both = ["copy near: a <= b", "copy next: a <= b"];
    expect(ran.splice(0)).toEqual(["unchanged near", both[0] as string, "unchanged next", both[1] as string]);
    expect(file()).toBe(TEXT);
    await tryIt();
    expect(ran).toEqual(both);
  });

  test.each<[Record<string, Verdict>, object]>([
    [{ near: "timed out" }, { outcome: "timed out", killedBy: "near" }],
    [
      { a: "passed", b: "passed", c: "passed", d: "failed" },
      { outcome: "survived", killedBy: null, testsRun: 3 },
    ],
    [{}, { outcome: "not covered", testsRun: 0 }],
  ])("tests that say %j", async (verdicts, outcome) => {
    expect(await world(verdicts).tryIt()).toMatchObject(outcome);
  });
});

test("a test that fails twice without a mutant is left out, and named; once is chance", async () => {
  const broken = world({ broken: "failed", sound: "passed" }, { broken: ["failed", "failed"] });
  expect(await broken.tryIt()).toMatchObject({ outcome: "survived", testsRun: 1 });
  expect(broken.runner.failing).toEqual(["broken"]);
  const shaky = world({ shaky: "failed" }, { shaky: ["failed", "passed"] });
  expect(await shaky.tryIt()).toMatchObject({ outcome: "killed", killedBy: "shaky" });
  expect(shaky.runner.failing).toEqual([]);
});

test("the copy is as it was when a run is stopped", async () => {
  const { tryIt, file } = world({ near: undefined as unknown as Verdict });
  expect(await tryIt().catch(String)).toBe("Error: stopped");
  expect(file()).toBe(TEXT);
});

test.each([
  [0, "", "passed"],
  [1, "(fail) a\n  ^ this test timed out after 20000ms.", "timed out"],
  [1, "(fail) a", "failed"],
  [137, "", "timed out"],
  [139, "", "failed"],
] as const)("exit code %d with %p: %s", (code, output, verdict) => {
  expect(verdictOf(code, output)).toBe(verdict);
});
