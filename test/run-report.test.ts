import { expect, test } from "bun:test";
import { bunTest, failedFiles, reasons } from "./run-report.ts";

const OUTPUT = `bun test v1.4.5

src/a.test.ts:
(pass) it works [0.05ms]

test/browser/b.test.ts:
12 | expect(left).toEqual(0);
error: expect(received).toEqual(expected)

Expected: 0
Received: 2

      at <anonymous> (test/browser/b.test.ts:12:1)
(fail) all > is gone [7.00ms]
(pass) all > was there [1.00ms]
(fail) too slow [50.00ms]
(skip) without root

2 tests failed:
(fail) all > is gone [7.00ms]
(fail) too slow [50.00ms]

 2 pass
 1 skip
 2 fail
`;

test("bun's counts, with the names of what is skipped", () => {
  expect(bunTest(OUTPUT)).toEqual({ passed: 2, failed: 2, skipped: ["without root"] });
  expect(bunTest("it broke before it began")).toBeNull();
});

test("a failed test is named once, with its own error and no other's", () => {
  const error = ["error: expect(received).toEqual(expected)", "Expected: 0", "Received: 2"];
  expect(reasons(OUTPUT)).toEqual([["all > is gone [7.00ms]", ...error].join("\n      "), "too slow [50.00ms]"]);
});

test("a demonstration's reason is what it did not see", () => {
  expect(reasons("   1.002 s  ready   all is up\n  12.003 s  FAILED  no route was seen\n{}")).toEqual([
    "12.003 s  FAILED  no route was seen",
  ]);
});

test("the files of failed tests", () => {
  expect(failedFiles(OUTPUT)).toEqual(["test/browser/b.test.ts"]);
});
