import { expect, test } from "bun:test";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { ClockSteps } from "./clock-steps.ts";

test("time that goes by is no step", () => {
  const clock = new ManualClock();
  const steps = new ClockSteps(clock);
  clock.advance(86_400_000);
  expect(steps.take()).toBe(0);
});

test("a clock that is set ahead or back is a step, reported once", () => {
  const clock = new ManualClock();
  const steps = new ClockSteps(clock);
  const start = clock.wallMs();
  clock.setWall(new Date(start + 3_600_000).toISOString());
  expect(steps.take()).toBe(3_600_000);
  expect(steps.take()).toBe(0);
  clock.setWall(new Date(start).toISOString());
  expect(steps.take()).toBe(-3_600_000);
});

test("slewing adds up to a step", () => {
  const clock = new ManualClock();
  const steps = new ClockSteps(clock);
  const start = clock.wallMs();
  clock.setWall(new Date(start + 999).toISOString());
  expect(steps.take()).toBe(0);
  clock.setWall(new Date(start + 1000).toISOString());
  expect(steps.take()).toBe(1000);
});
