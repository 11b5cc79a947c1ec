import { expect, test } from "bun:test";
import { attack, NOON } from "../../../test/fixtures/views.ts";
import { timestamp } from "../../schema/timestamp.ts";
import { type AttackWire, attackToWire } from "../wire/attack.ts";
import type { SeriesWire } from "../wire/attack-series.ts";
import { attackReport } from "./attack-report.ts";

type Point = SeriesWire["points"][number];

/** @param afterMs from the start of the attack to that of the point. */
function point(afterMs: number, seconds: number, pps: number): Point {
  const rates = { rate: pps, rate_max: pps, pps, pps_max: pps, mbps: 0, mbps_max: 0 };
  return { at: timestamp(NOON + afterMs), seconds, ...rates, dropped_pps: pps / 2, passed_pps: pps / 2 };
}

function reportOf(wire: AttackWire, points: Point[] = []): string {
  return attackReport({
    attack: wire,
    series: { available: true, id: wire.id, metric: "pps", threshold: 1, started_at: wire.started_at, points },
    timeline: { id: wire.id, entries: [] },
    sources: { available: false } as never,
    nowMs: NOON,
  });
}

function chartOf(points: Point[]) {
  const text = reportOf(attackToWire({ attack: attack(), ban: null }), points);
  return {
    unknown: /Not known from \S+ (\S+) UTC to \S+ (\S+) UTC/.exec(text)?.slice(1) ?? [],
    labels: [...text.matchAll(/text-anchor="(?:start|middle|end)">(\d\d:\d\d:\d\d)</g)].map(([, label]) => label),
    heights: [...text.matchAll(/height="([\d.]+)" fill="#7aa7d9"/g)].map(([, height]) => Math.round(Number(height))),
  };
}

test("the bars of the chart are of equal times, also where the first minutes have more points", () => {
  const ticks = Array.from({ length: 1000 }, (_, i) => point(100 * i, 0.1, 100));
  const { labels, heights } = chartOf([...ticks, point(100_000, 500, 50)]);
  expect(labels).toEqual(["12:00:00", "12:04:55", "12:09:55"]);
  expect([heights.length, heights.filter((height) => height === 166).length]).toEqual([120, 20]);
  expect(new Set(heights.slice(20))).toEqual(new Set([83]));
});

test("few points are a bar each, and a time without points has none", () => {
  expect(chartOf([point(0, 1, 100), point(1000, 1, 50)]).heights).toEqual([166, 83]);
  expect(chartOf([point(0, 1, 100), point(1000, 1, 50), point(8000, 1, 100)]).heights).toEqual([166, 0, 166]);
  expect(chartOf([]).heights).toEqual([]);
});

test("a time before the first point is unknown, not what the rounding of times makes", () => {
  expect(chartOf([point(999, 1, 100)]).unknown).toEqual([]);
  expect(chartOf([point(1000, 1, 100)]).unknown).toEqual(["12:00:00", "12:00:01"]);
});

test("of sampled traffic shares and what passed are estimates; where the causes are not known, what passed is a bound", () => {
  const volume = {
    ...{ began_at: timestamp(NOON), duration_seconds: 1, packets: 1000, bits: 8e6 },
    ...{ peak_pps: 1000, peak_mbps: 8, peak_over_ms: 100, mean_pps: 1000, mean_mbps: 8 },
    ...{ dropped_packets: 900, dropped_bits: 72e5, passed_packets: 100, passed_bits: 8e5 },
  };
  const partsOf = (changes: object) => {
    const wire = attackToWire({ attack: attack(), ban: null });
    const text = reportOf({ ...wire, volume: { ...volume, ...changes } });
    return ["Dropped here", "Passed here"].map(
      (name) => new RegExp(`>${name}<[^>]*>\\s*<[^>]*>([^<]*)`).exec(text)?.[1],
    );
  };
  const sampled = { peak_sampling_error: 0.12 };
  expect(partsOf({ dropped_by: {} })).toEqual(["900 packets, 90 % of the total", "100 packets, 10 % of the total"]);
  expect(partsOf({ dropped_by: {}, ...sampled })).toEqual([
    "900 packets, about 90 % of the total",
    "about 100 packets, about 10 % of the total, not known exactly: the estimated total less what was dropped here",
  ]);
  expect(partsOf({})).toEqual([
    "900 packets, 90 % of the total, by the rules of its ban",
    "at most 100 packets, 10 % of the total: what other causes dropped is not known of it",
  ]);
  expect(partsOf(sampled)[1]).toStartWith("at most about 100 packets, about 10 % of the total: ");
});
