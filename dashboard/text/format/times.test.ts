import { expect, test } from "bun:test";
import { countdown, duration, momentText, zonedTime } from "./times.ts";

test.each([
  [-3, "0 s"],
  [0, "0 s"],
  [45.9, "45 s"],
  [60, "1 min"],
  [725, "12 min 5 s"],
  [3600, "1 h"],
  [3605, "1 h"],
  [12_000, "3 h 20 min"],
  [90_000, "1 d 1 h"],
])("%d seconds last %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test.each([
  [-1, "0:00"],
  [0.2, "0:01"],
  [599, "9:59"],
  [3600, "1:00:00"],
])("%d seconds are left: %s", (seconds, text) => {
  expect(countdown(seconds)).toBe(text);
});

test("a time has its zone, and its date when that is another", () => {
  const noon = new Date(2026, 2, 1, 0, 5, 9).getTime();
  expect(zonedTime(noon)).toMatch(/^00:05:09 \S+$/);
  expect(momentText(noon, noon + 3_600_000)).toBe(zonedTime(noon));
  expect(momentText(noon, noon + 86_400_000)).toBe(`2026-03-01 ${zonedTime(noon)}`);
});
