import { expect, test } from "bun:test";
import { excessIn } from "./document-scan.ts";

test.each([
  ["[[1]]", { depthMax: 2, valuesMax: 2 }, null],
  ["[[1]]", { depthMax: 1, valuesMax: 2 }, "depth"],
  ['{"a":{"b":1}}', { depthMax: 1, valuesMax: 9 }, "depth"],
  ["[[],[],[]]", { depthMax: 2, valuesMax: 6 }, null],
  ["[[],[],[]]", { depthMax: 2, valuesMax: 5 }, "values"],
  ['{"a":1,"b":2}', { depthMax: 1, valuesMax: 1 }, "values"],
  ['["[[,,",1]', { depthMax: 1, valuesMax: 2 }, null],
  ['["\\"[[",1]', { depthMax: 1, valuesMax: 2 }, null],
  ['["\\\\",[1]]', { depthMax: 1, valuesMax: 9 }, "depth"],
  ['["[[[', { depthMax: 1, valuesMax: 1 }, null],
  ["", { depthMax: 0, valuesMax: 0 }, null],
] as const)("%s within %j: %p", (text, bounds, expected) => {
  expect(excessIn(text, bounds)).toBe(expected);
});
