import { describe, expect, test } from "bun:test";
import { rangeQuery, spanFault } from "./time-span.ts";

const NOON = Date.UTC(2026, 2, 1, 12);
const between = (from: string | null, to: string | null) => ({ kind: "between", from, to }) as const;

test("a span back from now, or between two times, is a query", () => {
  expect(String(rangeQuery({ kind: "last", seconds: 3600 }, NOON, { target: "192.0.2.1" }))).toBe(
    "from=2026-03-01T11%3A00%3A00.000Z&target=192.0.2.1",
  );
  expect(rangeQuery(between(null, "2026-03-01T11:00:00Z"), NOON, {}).get("to")).toBe("2026-03-01T11:00:00Z");
  expect(String(rangeQuery(between(null, null), NOON, {}))).toBe("");
});

describe("what is wrong with a span", () => {
  test.each([
    [{ kind: "last", seconds: 3600 } as const, null],
    [between(null, null), null],
    [between("2026-03-01T11:00:00Z", null), null],
    [between("2026-03-01T13:00:00Z", null), "It has not come yet."],
    [between("2026-03-01T11:00:00Z", "2026-03-01T10:00:00Z"), "After the begin."],
    [between("2026-03-01T11:00:00Z", "2026-03-01T11:00:00Z"), "After the begin."],
    [between("2026-01-29T12:00:00Z", "2026-03-01T12:00:00Z"), null],
    [between("2026-01-29T11:59:59Z", "2026-03-01T12:00:00Z"), "At most 31 days."],
  ])("%j: %s", (span, fault) => {
    expect(spanFault(span, NOON)).toBe(fault);
  });
});
