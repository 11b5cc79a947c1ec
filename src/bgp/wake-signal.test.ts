import { expect, test } from "bun:test";
import { WakeSignal } from "./wake-signal.ts";

function manualTimers() {
  let due: (() => void) | null = null;
  return {
    after: (_ms: number, fn: () => void) => {
      due = fn;
      return () => {
        due = null;
      };
    },
    every: () => () => {},
    fire: () => due?.(),
    isSet: () => due !== null,
  };
}

test("wakes at a signal, and cancels its timer", async () => {
  const timers = manualTimers();
  const wakeSignal = new WakeSignal(timers);
  const waiting = wakeSignal.wait(1_000);
  wakeSignal.signal();
  expect(await waiting).toBe(true);
  expect(timers.isSet()).toBe(false);
});

test("wakes when the time is over", async () => {
  const timers = manualTimers();
  const waiting = new WakeSignal(timers).wait(1_000);
  timers.fire();
  expect(await waiting).toBe(false);
});

test("keeps a signal for the next wait, and only for that", async () => {
  const timers = manualTimers();
  const wakeSignal = new WakeSignal(timers);
  wakeSignal.signal();
  wakeSignal.signal();
  expect(await wakeSignal.wait(1_000)).toBe(true);
  const waiting = wakeSignal.wait(1_000);
  timers.fire();
  expect(await waiting).toBe(false);
});
