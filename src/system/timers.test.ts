import { describe, expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { MAX_DELAY_MS, nextTurn, systemTimers } from "./timers.ts";

describe("timers", () => {
  test("run once, and every time until cancelled, in the order in which they fall due", () => {
    const clock = new ManualClock();
    const timers = new ManualTimers(clock);
    const seen: string[] = [];
    timers.after(250, () => seen.push(`once at ${clock.monotonicMs()}`));
    const cancel = timers.every(100, () => seen.push(`tick at ${clock.monotonicMs()}`));
    clock.advance(320);
    cancel();
    cancel();
    clock.advance(1000);
    expect(seen).toEqual(["tick at 100", "tick at 200", "once at 250", "tick at 300"]);
    expect(clock.pending).toBe(0);
  });

  test("may be cancelled by what they run", () => {
    const clock = new ManualClock();
    const timers = new ManualTimers(clock);
    let runs = 0;
    const cancel = timers.every(10, () => {
      runs++;
      cancel();
    });
    clock.advance(100);
    expect(runs).toBe(1);
  });

  test("do not notice a step of the wall clock", () => {
    const clock = new ManualClock();
    let ran = false;
    new ManualTimers(clock).after(1000, () => {
      ran = true;
    });
    clock.setWall("2036-01-01T00:00:00Z");
    clock.advance(999);
    expect(ran).toBe(false);
    clock.advance(1);
    expect(ran).toBe(true);
  });

  test.each([-1, Number.NaN, MAX_DELAY_MS + 1, Number.POSITIVE_INFINITY])("refuse a delay of %p ms", (ms) => {
    expect(() => systemTimers.after(ms, () => {})).toThrow(RangeError);
    expect(() => systemTimers.every(ms, () => {})).toThrow(RangeError);
  });

  test("refuse to repeat without a pause", () => {
    expect(() => systemTimers.every(0, () => {})).toThrow("a delay is 1 to");
  });

  test("of the system run, and run no more once cancelled", async () => {
    let cancelled = 0;
    const cancel = systemTimers.after(0, () => cancelled++);
    cancel();
    await new Promise<void>((resolve) => systemTimers.after(1, resolve));
    await nextTurn();
    expect(cancelled).toBe(0);
  });
});
