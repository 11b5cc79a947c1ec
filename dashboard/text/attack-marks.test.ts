import { expect, test } from "bun:test";
import type { SeriesWire } from "../../src/http/wire/attack-series.ts";
import { earlyPeakNote, entryAt } from "./attack-marks.ts";

const NOON = Date.parse("2026-03-01T12:00:00.000Z");
const point = (second: number, rate: number) => ({
  ...{ at: new Date(NOON + 1000 * second).toISOString(), seconds: 1, rate, rate_max: rate },
  ...{ pps: rate, pps_max: rate, mbps: 1, mbps_max: 1 },
});
const series = (...rates: readonly number[]) =>
  ({ metric: "pps", points: rates.map((rate, i) => point(i, rate)) }) as unknown as SeriesWire;
const BEGAN = new Date(NOON + 2000).toISOString();

test("the entry of a time is the last one until then", () => {
  expect([null, 0, 1, 4, 5, 9].map((at) => entryAt([1, 5], at))).toEqual([null, null, 0, 0, 1, 1]);
});

test("a rate that is highest before the begin is explained, and only then", () => {
  expect(earlyPeakNote(series(10, 900, 800, 700), BEGAN)).toMatch(
    /^The rate was up to 900 pps at .*before this attack began/,
  );
  expect(earlyPeakNote(series(10, 20, 900, 30), BEGAN)).toBeNull();
  // It may be an estimate that is too high by chance.
  const { points, ...rest } = series(10, 900, 800, 700);
  const sampled = (error: number) => ({ ...rest, points: points.map((p) => ({ ...p, max_sampling_error: error })) });
  expect(earlyPeakNote(sampled(0.25), BEGAN)).toBeNull();
  expect(earlyPeakNote(sampled(0.02), BEGAN)).toContain("up to 900 pps ± 2.0 % at");
  // The tick of the begin belongs to the attack.
  expect(earlyPeakNote(series(10, 20, 900), BEGAN)).toBeNull();
  expect(earlyPeakNote(series(), BEGAN)).toBeNull();
});
