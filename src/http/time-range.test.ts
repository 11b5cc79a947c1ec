import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { BUCKETS_MAX, RANGE_MS_MAX, STEP_SECONDS_MAX } from "../limits.ts";
import { timestamp } from "../schema/timestamp.ts";
import { bucketCount, step, type TimeRange, timeRange } from "./time-range.ts";

const NOW = Date.UTC(2026, 2, 1, 12);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const rangeOf = (query: Record<string, string>) => timeRange(new URLSearchParams(query), NOW);
const range = (fromMs: number, toMs: number): TimeRange => ({ kind: "range", fromMs, toMs });
const stepOf = (text: string | null, over: TimeRange) =>
  step(new URLSearchParams(text === null ? {} : { step: text }), over);

describe("time range #time-range", () => {
  test("is the last hour where nothing is said", () => {
    expect(rangeOf({})).toEqual(range(NOW - HOUR, NOW));
  });

  test("runs to now from `from` alone, and reaches an hour back from `to` alone", () => {
    expect(rangeOf({ from: timestamp(NOW - 5 * DAY) })).toEqual(range(NOW - 5 * DAY, NOW));
    expect(rangeOf({ to: timestamp(NOW - 5 * DAY) })).toEqual(range(NOW - 5 * DAY - HOUR, NOW - 5 * DAY));
  });

  test("may be of 31 days exactly, and not a millisecond longer #limit-history-range", () => {
    const to = timestamp(NOW);
    expect(rangeOf({ from: timestamp(NOW - 31 * DAY), to })).toEqual(range(NOW - 31 * DAY, NOW));
    expect(rangeOf({ from: timestamp(NOW - 31 * DAY - 1), to })).toMatchObject({
      detail: "time range too large (max 31 days)",
    });
  });

  test.each([0, -1, -HOUR])("ends after it begins: not %d ms after", (ms) => {
    expect(rangeOf({ from: timestamp(NOW), to: timestamp(NOW + ms) })).toMatchObject({
      kind: "invalid_query",
      detail: "to must be after from",
    });
  });

  test("cannot begin in the future unless it ends there", () => {
    expect(rangeOf({ from: timestamp(NOW + HOUR) })).toMatchObject({ detail: "to must be after from" });
    expect(rangeOf({ from: timestamp(NOW + HOUR), to: timestamp(NOW + DAY) })).toMatchObject({ kind: "range" });
  });

  test.each(["from", "to"])("names the %s that is no time, also an empty one", (name) => {
    expect(rangeOf({ [name]: "" })).toMatchObject({ kind: "invalid_query", detail: expect.stringContaining(name) });
    expect(rangeOf({ [name]: "2026-02-30T00:00:00Z" })).toMatchObject({
      detail: expect.stringContaining("2026-02-30T00:00:00Z"),
    });
  });

  test("goes by the last of equal keys", () => {
    const query = new URLSearchParams([
      ["from", "nonsense"],
      ["from", timestamp(NOW - DAY)],
    ]);
    expect(timeRange(query, NOW)).toEqual(range(NOW - DAY, NOW));
  });
});

describe("time step #time-step", () => {
  test("is a minute where nothing is said", () => {
    expect(stepOf(null, range(NOW - HOUR, NOW))).toMatchObject({ stepSeconds: 60 });
  });

  test.each(["1", "60", "86400"])("of %s s is taken as it is #limit-history-step", (text) => {
    expect(stepOf(text, range(NOW - HOUR, NOW))).toMatchObject({ stepSeconds: Number(text) });
  });

  test.each(["", "0", "-1", "1.5", "1e3", "0x10", "060", " 60", "86401", "9".repeat(400), "NaN", "６０"])(
    "of %p is none",
    (text) => {
      expect(stepOf(text, range(NOW - HOUR, NOW))).toMatchObject({ kind: "invalid_query" });
    },
  );

  test("is raised so that the range has 5000 buckets, and not before", () => {
    const aligned = range(NOW - 5000 * 60_000, NOW);
    expect(stepOf("60", aligned)).toMatchObject({ stepSeconds: 60 });
    expect(stepOf("60", range(aligned.fromMs - 1000, NOW))).toMatchObject({ stepSeconds: 61 });
    expect(stepOf("1", range(NOW - 31 * DAY, NOW))).toMatchObject({ stepSeconds: 536 });
  });

  test("never leaves more than 5000 buckets, nor is raised by more than that takes", () => {
    const seed = 20_261_122;
    const random = seededRandom(seed);
    for (let round = 0; round < 5000; round++) {
      const toMs = NOW + Math.floor(random() * DAY);
      const over = range(toMs - 1 - Math.floor(random() ** 3 * (RANGE_MS_MAX - 1)), toMs);
      const asked = 1 + Math.floor(random() ** 3 * STEP_SECONDS_MAX);
      const result = stepOf(String(asked), over);
      const what = `seed ${seed}, round ${round}: ${over.fromMs}..${over.toMs} step ${asked}`;
      if (result.kind !== "step") throw new Error(`${what}: ${result.detail}`);
      const { stepSeconds } = result;
      expect(bucketCount(over.fromMs, over.toMs, stepSeconds), what).toBeLessThanOrEqual(BUCKETS_MAX);
      expect(stepSeconds, what).toBeGreaterThanOrEqual(asked);
      if (stepSeconds === asked) continue;
      expect(bucketCount(over.fromMs, over.toMs, stepSeconds - 1), what).toBeGreaterThan(BUCKETS_MAX - 1);
    }
  });
});
