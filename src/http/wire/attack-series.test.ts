import { expect, test } from "bun:test";
import type { Attack } from "../../detection/attack/attack.ts";
import { AttackSeries, type SeriesTick } from "../../detection/attack/attack-series.ts";
import { seriesToWire } from "./attack-series.ts";

const attack = {
  ...{ id: "a", metric: "pps", threshold: 1, startedAt: 0, endedAt: null, reason: { baseline: null } },
  volume: { beganAt: 1000 },
};

test("a late tick and the short one after it are one point, so that no rate is above the highest #series-points", () => {
  const series = new AttackSeries();
  let endMs = 1000;
  const tick = (spanMs: number, packets: number): SeriesTick => {
    endMs += spanMs;
    return { endMs, spanMs, packets, bits: 1000 * packets, ofMetric: packets };
  };
  const late = { spanMs: 200, packets: 600, bits: 600_000, ofMetric: 600, endMs: 0 };
  for (const [spanMs, packets, over] of [
    [100, 300],
    [180, 300],
    [20, 300, late],
    [100, 300],
  ] as const) {
    series.add(tick(spanMs, packets), 100, over);
    series.drop({ packets: packets / 2, bits: 500 * packets });
  }
  const { points } = seriesToWire({ attack: attack as unknown as Attack, series });
  expect(points.map(({ at, seconds, pps, dropped_pps: dropped }) => [Date.parse(at), seconds, pps, dropped])).toEqual([
    [1000, 0.1, 3000, 1500],
    [1100, 0.2, 3000, 1500],
    [1300, 0.1, 3000, 1500],
  ]);
  expect(points.filter(({ rate, rate_max: highest }) => rate > highest)).toEqual([]);
});
