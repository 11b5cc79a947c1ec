import { describe, expect, test } from "bun:test";
import { AttackSeries } from "./attack-series.ts";

function seriesOf(packets: readonly number[], capacity: number): AttackSeries {
  const series = new AttackSeries();
  packets.forEach((count, i) => {
    series.add({ endMs: 100 * (i + 1), spanMs: 100, packets: count, bits: 8 * count, ofMetric: count / 2 }, capacity);
  });
  return series;
}

describe("beyond its room", () => {
  test.each([
    [4, 4],
    [5, 4],
    [6, 4],
    [7, 4],
  ])(
    "%p ticks in room for four are %p points, of which no packet and no peak is lost #series-coarsens",
    (ticks, length) => {
      const packets = Array.from({ length: ticks }, (_, i) => (i === 1 ? 900 : 10 + i));
      const points = [...seriesOf(packets, 4).points()];
      expect(points).toHaveLength(length);
      expect(points.reduce((sum, point) => sum + point.packets, 0)).toBe(packets.reduce((a, b) => a + b));
      expect(Math.max(...points.map(({ ppsMax }) => ppsMax))).toBe(9000);
      expect(points.reduce((sum, { spanMs }) => sum + spanMs, 0)).toBe(100 * ticks);
      expect(points.at(-1)).toMatchObject({ endMs: 100 * ticks, spanMs: 100 });
      for (const [i, { endMs, spanMs }] of points.entries()) expect(endMs - spanMs).toBe(points[i - 1]?.endMs ?? 0);
    },
  );

  test("points are merged with their neighbors: sums add up, the larger maximum stays", () => {
    const third = [...seriesOf([5, 5, 10, 30, 1], 4).points()][2];
    expect(third).toEqual({
      endMs: 400,
      spanMs: 200,
      packets: 40,
      bits: 320,
      ofMetric: 20,
      ppsMax: 300,
      bpsMax: 2400,
      metricMax: 150,
      maxDeviation: 0,
      dropped: null,
    });
  });

  test("a smaller room holds at the next tick", () => {
    const series = seriesOf(new Array<number>(1024).fill(1), 1024);
    expect(series.length).toBe(1024);
    series.add({ endMs: 0, spanMs: 100, packets: 1, bits: 1, ofMetric: 1 }, 100);
    expect(series.length).toBe(82);
  });
});

test("the first two minutes stay as they are, at most half of the room", () => {
  const spansOf = (ticks: number, capacity: number) =>
    [...seriesOf(new Array<number>(ticks).fill(1), capacity).points()].map(({ spanMs }) => spanMs);
  const spans = spansOf(6000, 2560);
  expect(spans.findIndex((ms) => ms > 100)).toBe(1201);
  expect(Math.max(...spans)).toBeGreaterThan(200);
  expect(spansOf(6000, 100).findIndex((ms) => ms > 100)).toBe(50);
});

test("drops that are read before the traffic they are of belong to the next points", () => {
  const series = seriesOf([10], 8);
  series.drop({ packets: 15, bits: 60 });
  series.add({ endMs: 200, spanMs: 100, packets: 10, bits: 80, ofMetric: 0 }, 8);
  series.drop({ packets: 3, bits: 24 });
  expect([...series.points()].map(({ dropped }) => dropped)).toEqual([
    { packets: 10, bits: 60 },
    { packets: 8, bits: 24 },
  ]);
});

test("what was dropped since the last reading is shared out by what was offered", () => {
  const series = seriesOf([10, 30], 8);
  series.drop({ packets: 20, bits: 160 });
  series.add({ endMs: 300, spanMs: 100, packets: 40, bits: 320, ofMetric: 0 }, 8);
  expect([...series.points()].map(({ dropped }) => dropped)).toEqual([
    { packets: 5, bits: 40 },
    { packets: 15, bits: 120 },
    null,
  ]);
  series.drop({ packets: 0, bits: 0 });
  expect([...series.points()].at(-1)?.dropped).toEqual({ packets: 0, bits: 0 });
});
