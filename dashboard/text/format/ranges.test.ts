import { describe, expect, test } from "bun:test";
import {
  chosenSpan,
  emptySpans,
  rangeEnds,
  rangeName,
  rangeOf,
  rangeQuery,
  rangeSpan,
  recordedSpan,
  spanQuery,
  timeline,
} from "./ranges.ts";

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

describe("emptySpans", () => {
  const NOW = NOON / 1000;
  const empty = (...seconds: number[]) =>
    emptySpans(timeline(seconds.map(point), 10), { from: NOW - 100, to: NOW + 200 }, 10).map(({ from, to }) => [
      from - NOW,
      to - NOW,
    ]);

  test("are before the first point, in a hole, and after the last point", () => {
    expect(empty(0, 10, 100, 110)).toEqual([
      [-100, 0],
      [20, 100],
      [120, 200],
    ]);
  });

  test("of nothing are the whole range, and of a full range none", () => {
    expect(empty()).toEqual([[-100, 200]]);
    expect(empty(...Array.from({ length: 30 }, (_, i) => i * 10 - 100))).toEqual([]);
  });

  test("an hour is an hour, however little was recorded", () => {
    expect(rangeSpan("1h", NOON)).toEqual({ from: NOW - 3600, to: NOW });
  });
});

describe("a range chosen on a chart", () => {
  test("is in the URL in whole seconds, and not shorter than a chart can show", () => {
    expect(spanQuery({ from: 1000.4, to: 1100.2 })).toEqual({ from: "1000", to: "1101" });
    expect(spanQuery({ from: 1000, to: 1001 })).toEqual({ from: "1000", to: "1060" });
    expect(chosenSpan("1000", "1060")).toEqual({ from: 1000, to: 1060 });
  });

  test("that cannot be shown is none", () => {
    for (const [from, to] of [
      [null, "1060"],
      ["1000", null],
      ["1000", "1059"],
      ["1100", "1000"],
      ["x", "1060"],
      ["1e3", "2000"],
      ["1000", "99999999999"],
      ["1000", String(1001 + 31 * 86_400)],
    ] as const) {
      expect(chosenSpan(from, to)).toBeNull();
    }
  });

  test("is requested from the history in steps that fit into a chart", () => {
    const from = NOON / 1000;
    expect(rangeQuery({ from, to: from + 60 }, NOON, 10)).toEqual({
      from: "2026-03-01T12:00:00.000Z",
      to: "2026-03-01T12:01:00.000Z",
      step: "10",
    });
    expect(rangeQuery({ from, to: from + 7200 }, NOON, 10).step).toBe("20");
  });
});

test("the range of the URL is that between its two times, else that of its name, else the last hour", () => {
  const of = (query: string) => rangeOf(new URLSearchParams(query));
  expect(of("from=1000&to=1060&range=6h")).toEqual({ from: 1000, to: 1060 });
  expect(of("from=1000&to=1001&range=6h")).toBe("6h");
  expect(of(`from=1000&to=${1000 + 31 * 86_400}`)).toEqual({ from: 1000, to: 1000 + 31 * 86_400 });
  expect(of("")).toBe("1h");
});

test("a list of the history is requested for the range without steps, and up to now without an end", () => {
  expect(rangeEnds("1h", NOON)).toEqual({ from: "2026-03-01T11:00:00.000Z" });
  expect(rangeEnds({ from: NOON / 1000 - 60, to: NOON / 1000 }, NOON)).toEqual({
    from: "2026-03-01T11:59:00.000Z",
    to: "2026-03-01T12:00:00.000Z",
  });
});

test("the chart of the last hour begins where records do, if that is well within it", () => {
  const line = (...times: number[]) => ({ times, points: times.map(() => ({})), stepSeconds: 10 });
  const [hour, nowMs] = [{ from: 0, to: 3600 }, 3_600_000];
  expect(recordedSpan("1h", nowMs, line(3000, 3010))).toEqual({ from: 2990, to: 3600 });
  expect(recordedSpan("1h", nowMs, line(3590))).toEqual({ from: 3300, to: 3600 });
  expect(recordedSpan("1h", nowMs, line(100, 3000))).toEqual(hour);
  expect(recordedSpan("1h", nowMs, line())).toEqual(hour);
  expect(recordedSpan("6h", nowMs, line(3000))).toEqual({ from: 3600 - 6 * 3600, to: 3600 });
  expect(recordedSpan(hour, nowMs, line(3000, 3010))).toEqual(hour);
});

test("of what may be silent it begins no later than the service", () => {
  const line = { times: [3000], points: [{}], stepSeconds: 10 };
  expect(recordedSpan("1h", 3_600_000, { ...line, startedAt: 2000 })).toEqual({ from: 1990, to: 3600 });
  expect(recordedSpan("1h", 3_600_000, { ...line, startedAt: -9000 })).toEqual({ from: 0, to: 3600 });
});
