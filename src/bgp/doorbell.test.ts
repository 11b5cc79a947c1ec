import { expect, test } from "bun:test";
import { Doorbell } from "./doorbell.ts";

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

test("wakes at a ring, and its timer is gone", async () => {
  const timers = manualTimers();
  const doorbell = new Doorbell(timers);
  const waiting = doorbell.wait(1_000);
  doorbell.ring();
  expect(await waiting).toBe(true);
  expect(timers.isSet()).toBe(false);
});

test("wakes when the time is over", async () => {
  const timers = manualTimers();
  const waiting = new Doorbell(timers).wait(1_000);
  timers.fire();
  expect(await waiting).toBe(false);
});

test("keeps a ring for the next wait, and only for that", async () => {
  const timers = manualTimers();
  const doorbell = new Doorbell(timers);
  doorbell.ring();
  doorbell.ring();
  expect(await doorbell.wait(1_000)).toBe(true);
  const waiting = doorbell.wait(1_000);
  timers.fire();
  expect(await waiting).toBe(false);
});
