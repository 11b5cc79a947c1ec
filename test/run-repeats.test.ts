import { expect, test } from "bun:test";
import { type Outcome, passAgain } from "./run-repeats.ts";

function failing(...names: readonly string[]): Outcome {
  const lines = names.map((name) => `(fail) ${name} [2.00ms]\n`).join("");
  const output = `a.test.ts:\n${lines}\n 1 pass\n ${names.length} fail\nRan 3 tests across 1 file. [5.00ms]\n`;
  return { output, failed: names.length };
}
const PASSED: Outcome = { output: "", failed: 0 };
const CRASHED: Outcome = { output: "Segmentation fault", failed: 1 };

function answers(...outcomes: readonly Outcome[]): { run: () => Promise<Outcome>; runs: () => number } {
  let runs = 0;
  return { run: async () => outcomes[runs++] ?? PASSED, runs: () => runs };
}

test("a test that fails once more stays failed, and the others pass", async () => {
  const { run } = answers(failing("y"), PASSED);
  const repeats = [
    { command: ["one"], tests: ["x", "y"] },
    { command: ["two"], tests: ["z"] },
  ];
  expect(await passAgain(repeats, 1, run)).toEqual(new Set(["x", "z"]));
});

test("what failed once more is repeated as often as it may be, and no longer than it fails", async () => {
  const { run, runs } = answers(failing("y"), failing("x"), failing("y"));
  expect(await passAgain([{ command: ["one"], tests: ["x", "y"] }], 3, run)).toEqual(new Set(["x", "y"]));
  expect(runs()).toBe(2);
});

test("none has passed in a run that ended early", async () => {
  expect(await passAgain([{ command: ["one"], tests: ["x"] }], 1, answers(CRASHED).run)).toEqual(new Set());
});

test("what is one test passes as a whole", async () => {
  const repeats = [{ command: ["lab"], tests: null }];
  expect(await passAgain(repeats, 2, answers(CRASHED, PASSED).run)).toBe("all");
  expect(await passAgain(repeats, 2, answers(CRASHED, CRASHED).run)).toEqual(new Set());
  expect(await passAgain([], 2, answers().run)).toEqual(new Set());
});
