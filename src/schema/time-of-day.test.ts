import { afterAll, expect, test } from "bun:test";
import { nearestTimeOfDay } from "./time-of-day.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const ZONE = process.env["TZ"];

afterAll(() => {
  process.env["TZ"] = ZONE ?? "";
});

const both = (text: string, nowMs: number) =>
  ([1, -1] as const).map((direction) => nearestTimeOfDay(text, nowMs, direction)?.toISOString().slice(0, 16));

test.each([
  ["Etc/UTC", "22:00", "2026-03-01T22:00", "2026-02-28T22:00"],
  ["Etc/UTC", "9:30", "2026-03-02T09:30", "2026-03-01T09:30"],
  ["Etc/UTC", "12:00", "2026-03-02T12:00", "2026-02-28T12:00"],
  ["Europe/Berlin", "22:00", "2026-03-01T21:00", "2026-02-28T21:00"],
  ["Asia/Tokyo", "20:00", "2026-03-02T11:00", "2026-03-01T11:00"],
])("in %s %s is the nearest in this machine's zone", (zone, text, ahead, before) => {
  process.env["TZ"] = zone;
  expect(both(text, NOW)).toEqual([ahead, before]);
});

test.each([
  // Today lacks the hour.
  ["Europe/Berlin", "02:30", "2026-03-29T03:45:00+02:00", "2026-03-30T00:30", "2026-03-29T01:30"],
  ["Europe/Berlin", "02:30", "2026-03-29T03:15:00+02:00", "2026-03-29T01:30", "2026-03-28T01:30"],
  // Today has it twice.
  ["Europe/Berlin", "02:30", "2026-10-25T02:15:00+02:00", "2026-10-25T00:30", "2026-10-24T00:30"],
  ["Europe/Berlin", "02:30", "2026-10-25T02:45:00+02:00", "2026-10-25T01:30", "2026-10-25T00:30"],
  ["Europe/Berlin", "02:30", "2026-10-25T02:45:00+01:00", "2026-10-26T01:30", "2026-10-25T01:30"],
  ["Australia/Lord_Howe", "01:45", "2026-04-05T01:50:00+11:00", "2026-04-04T15:15", "2026-04-04T14:45"],
])("in %s %s, where the clock is set at %s", (zone, text, now, ahead, before) => {
  process.env["TZ"] = zone;
  expect(both(text, Date.parse(now))).toEqual([ahead, before]);
});

test("anything else is none", () => {
  for (const text of ["", "24:00", "12:60", "1", "22:0", "2026-03-01 12:00"])
    expect(nearestTimeOfDay(text, NOW, 1), text).toBeNull();
});
