import { expect, test } from "bun:test";
import { lonePoints, timeTexts } from "./chart-marks.ts";

const at = (...times: string[]) => times.map((time) => new Date(time).getTime() / 1000);

test("days have their dates, and no label repeats", () => {
  expect(timeTexts(at("2026-03-01T00:00", "2026-03-02T00:00", "2026-03-03T00:00"))).toEqual([
    "1 Mar",
    "2 Mar",
    "3 Mar",
  ]);
});

test("midnight between times is the date of the day that begins", () => {
  const splits = at("2026-03-01T16:00", "2026-03-02T00:00", "2026-03-02T08:00");
  expect(timeTexts(splits)).toEqual(["16:00", "2 Mar", "08:00"]);
});

test("a day that begins between two marks has its date below the first of it", () => {
  expect(timeTexts(at("2026-03-01T22:30", "2026-03-02T02:30"))).toEqual(["22:30", "02:30\n2 Mar"]);
});

test("times of less than a minute have seconds", () => {
  expect(timeTexts(at("2026-03-01T12:00:00", "2026-03-01T12:00:30"))).toEqual(["12:00:00", "12:00:30"]);
});

test("values between gaps are marked, and those at the ends", () => {
  expect(lonePoints([1, null, 2, 3, null, 0, undefined, 4])).toEqual([0, 5, 7]);
  expect(lonePoints([1, 2, 3])).toEqual([]);
  expect(lonePoints([])).toEqual([]);
});
