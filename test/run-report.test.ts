import { describe, expect, test } from "bun:test";
import { failedTests, isRandom, reasons } from "./run-report.ts";

const DOCTEST = `[doctest] doctest version is "2.4.9"
===============================================================================
test/limit_test.cpp:88:
TEST CASE:  limit: bytes count to it

test/limit_test.cpp:103: ERROR: CHECK( box.passing(frame, 100) == 6 ) is NOT correct!
  values: CHECK( 7 == 6 )

===============================================================================
[doctest] test cases: 349 | 348 passed | 1 failed | 45 skipped
`;

test("of a failed native test its name, its check and the values are shown", () => {
  expect(reasons(DOCTEST)).toEqual([
    "limit: bytes count to it",
    "    test/limit_test.cpp:103: ERROR: CHECK( box.passing(frame, 100) == 6 ) is NOT correct!",
    "    values: CHECK( 7 == 6 )",
  ]);
});

test("of a failed test of bun its name is shown once, and the error before it", () => {
  const output = "error: expected 1\n      at x.test.ts:1\n(fail) it holds\n\n 1 tests failed:\n(fail) it holds\n";
  expect(reasons(output)).toEqual(["it holds\n      error: expected 1"]);
});

test("of a step that names no failed test the last lines are shown", () => {
  expect(reasons("started\n\nSegmentation fault\n")).toEqual([
    "no failed test is named; its last lines: \n      started\n      Segmentation fault",
  ]);
});

test("a test that draws at random is known by its file, one that has no file counts as such", () => {
  const files = ["src/bgp/flowspec-agreement.test.ts", "test/adversary/adversary.test.ts", ""];
  expect(files.map(isRandom)).toEqual([true, true, true]);
  expect(isRandom("src/observability/limiter.test.ts")).toBe(false);
});

describe("failed tests that may be repeated", () => {
  const results =
    "a.test.ts:\n(pass) w [1ms]\n\nb.test.ts:\nerror: u\n(fail) x [0.18ms]\n(fail) z (SEED=12) [0.34ms]\n\n";
  const summary = "2 tests failed:\n(fail) x [0.18ms]\n(fail) z (SEED=12) [0.34ms]\n\n 1 pass\n 2 fail\n";

  test("have their file, and the seed that they drew", () => {
    expect(failedTests(`${results}${summary}Ran 3 tests across 2 files. [55.00ms]\n`)).toEqual([
      { name: "x", file: "b.test.ts", seed: null },
      { name: "z (SEED=12)", file: "b.test.ts", seed: "12" },
    ]);
  });

  test.each([
    ["the runner ended before its counts", results],
    ["a file could not be loaded", `${results} 1 pass\n 3 fail\n 1 error\nRan 4 tests across 3 files. [55.00ms]\n`],
    ["more failed than are named", `${results} 1 pass\n 3 fail\nRan 4 tests across 2 files. [55.00ms]\n`],
  ])("are none where %s", (_, output) => {
    expect(failedTests(output)).toBeNull();
  });
});
