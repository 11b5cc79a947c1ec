import { describe, expect, test } from "bun:test";
import { compareStamps, isNewer, isTooFarAhead, STAMP_AHEAD_MAX_MS, StampClock } from "./stamp.ts";

describe("stamps", () => {
  test("are in the order of their times, then of the names of their brains", () => {
    const [a, b, later] = [
      { ms: 5, brain: "a" },
      { ms: 5, brain: "b" },
      { ms: 6, brain: "a" },
    ];
    expect([later, b, a].sort(compareStamps)).toEqual([a, b, later]);
    expect([isNewer(b, a), isNewer(a, b), isNewer(a, a), isNewer(a, null)]).toEqual([true, false, false, true]);
  });

  test("of one brain are each later than the one before, whatever its clock shows", () => {
    const clock = new StampClock("a");
    const made = [1000, 1000, 500.7, 2000.9].map((wallMs) => clock.next(wallMs));
    expect(made.map(({ ms }) => ms)).toEqual([1000, 1001, 1002, 2000]);
    expect(made.every(({ brain }) => brain === "a")).toBe(true);
  });

  test("follow one that was seen, an hour ahead, say", () => {
    const clock = new StampClock("a");
    clock.see({ ms: 3_600_000, brain: "b" });
    expect(clock.next(1000)).toEqual({ ms: 3_600_001, brain: "a" });
    clock.see({ ms: 5, brain: "b" });
    expect(clock.next(1000).ms).toBe(3_600_002);
    clock.reset();
    expect(clock.next(1000).ms).toBe(1000);
  });

  test("are refused when they are more than a day ahead", () => {
    const at = (ms: number) => isTooFarAhead({ ms, brain: "a" }, 1000);
    expect([at(1000 + STAMP_AHEAD_MAX_MS), at(1001 + STAMP_AHEAD_MAX_MS)]).toEqual([false, true]);
  });
});
