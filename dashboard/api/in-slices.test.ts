import { afterEach, expect, spyOn, test } from "bun:test";
import { inSlices } from "./in-slices.ts";

afterEach(() => {
  Reflect.deleteProperty(globalThis, "document");
});

function* threeSteps(): Generator<void, string, void> {
  yield;
  yield;
  return "done";
}

test.each([
  ["visible", 2],
  ["hidden", 0],
] as const)("a %s page waits %d times between slices", async (visibilityState, pauses) => {
  Object.defineProperty(globalThis, "document", { configurable: true, value: { visibilityState } });
  let nowMs = 0;
  using _clock = spyOn(performance, "now").mockImplementation(() => (nowMs += 10));
  using timer = spyOn(globalThis, "setTimeout");
  expect(await inSlices(threeSteps())).toBe("done");
  expect(timer).toHaveBeenCalledTimes(pauses);
});
