import { describe, expect, test } from "bun:test";
import { rangeName, rangeQuery, timeline } from "./ranges.ts";

const NOON = Date.parse("2026-03-01T12:00:00Z");
const point = (second: number) => ({ ts: new Date(NOON + second * 1000).toISOString(), value: second });

describe("rangeQuery", () => {
  test("starts at the right time, in steps that fit into a chart", () => {
    expect(rangeQuery("1h", NOON, 10)).toEqual({ from: "2026-03-01T11:00:00.000Z", step: "10" });
    expect(rangeQuery("30d", NOON, 10)).toEqual({ from: "2026-01-30T12:00:00.000Z", step: "7200" });
  });

  test("has no finer steps than what is recorded", () => {
    expect(rangeQuery("1h", NOON, 30).step).toBe("30");
  });
});

test("a range that is not known is the shortest", () => {
  expect(rangeName(null)).toBe("1h");
  expect(rangeName("2h")).toBe("1h");
  expect(rangeName("7d")).toBe("7d");
});

describe("timeline", () => {
  test("has a hole where nothing was recorded for long", () => {
    const points = [point(0), point(10), point(60), point(70)];
    const { times, points: filled } = timeline(points, 10);
    expect(times.map((at) => at - NOON / 1000)).toEqual([0, 10, 20, 60, 70]);
    expect(filled).toEqual([points[0], points[1], null, points[2], points[3]] as typeof filled);
  });

  test("one bucket that is missing is no hole", () => {
    expect(timeline([point(0), point(20)], 10).points).not.toContain(null);
  });

  test("of nothing is nothing", () => {
    expect(timeline([], 10)).toEqual({ times: [], points: [] });
  });
});
