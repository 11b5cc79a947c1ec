import { describe, expect, test } from "bun:test";
import type { Mutant } from "./draw.ts";
import { MutantRun } from "./mutant-run.ts";
import type { TestRequest, Verdict } from "./test-process.ts";

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
    return { verdict: verdict as Verdict, cpuSeconds: 1, output: "" };
  };
  const testsOf = () => Object.keys(verdicts);
  const processes = { run };
  const runner = new MutantRun({
    processes,
    unchanged: { directory: "unchanged" },
    textOf: () => TEXT,
    testsOf,
    testsMax: 3,
  });
  const write = (_: string, text: string) => {
    file = text;
  };
  const copy = { directory: "copy", write };
  return { runner, ran, copy, tryIt: () => runner.try(mutant, copy), file: () => file };
}

describe("a mutant", () => {
  test("is killed by the first test that fails, which is the last to run", async () => {
    const { tryIt, ran, file } = world({ near: "passed", next: "failed", far: "failed" });
    expect(await tryIt()).toMatchObject({ outcome: "killed", killedBy: "next", testsRun: 2, path: "src/a.ts" });
    expect(ran).toEqual(["unchanged near", "copy near: a <= b", "unchanged next", "copy next: a <= b"]);
    expect(file()).toBe(TEXT);
  });

  test("whose test does not end is counted apart", async () => {
    expect(await world({ near: "timed out" }).tryIt()).toMatchObject({ outcome: "timed out", killedBy: "near" });
  });

  test("survives when as many tests have passed as may run", async () => {
    const { tryIt } = world({ a: "passed", b: "passed", c: "passed", d: "failed" });
    expect(await tryIt()).toMatchObject({ outcome: "survived", killedBy: null, testsRun: 3 });
  });

  test("that no test reaches is not covered", async () => {
    expect(await world({}).tryIt()).toMatchObject({ outcome: "not covered", testsRun: 0 });
  });
});

describe("a test", () => {
  test("that fails twice without a mutant is left out, and named", async () => {
    const { tryIt, runner } = world({ broken: "failed", sound: "passed" }, { broken: ["failed", "failed"] });
    expect(await tryIt()).toMatchObject({ outcome: "survived", testsRun: 1 });
    expect(runner.failing).toEqual(["broken"]);
  });

  test("that fails once without a mutant is heard", async () => {
    const { tryIt, runner } = world({ shaky: "failed" }, { shaky: ["failed", "passed"] });
    expect(await tryIt()).toMatchObject({ outcome: "killed", killedBy: "shaky" });
    expect(runner.failing).toEqual([]);
  });

  test("runs once without a mutant, however many mutants it is for", async () => {
    const { tryIt, ran } = world({ near: "passed" });
    await tryIt();
    await tryIt();
    expect(ran).toEqual(["unchanged near", "copy near: a <= b", "copy near: a <= b"]);
  });
});

test("the copy is as it was when a run is stopped", async () => {
  const { file, copy } = world({});
  const processes = { run: () => Promise.reject(new Error("stopped")) };
  const options = { unchanged: { directory: "unchanged" }, textOf: () => TEXT, testsOf: () => ["near"], testsMax: 3 };
  expect(new MutantRun({ ...options, processes }).try(mutant, copy)).rejects.toThrow("stopped");
  await Bun.sleep(0);
  expect(file()).toBe(TEXT);
});
