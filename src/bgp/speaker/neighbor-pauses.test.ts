import { expect, test } from "bun:test";
import { NeighborPauses, PAUSE_MAX_MS, PAUSE_MIN_MS } from "./neighbor-pauses.ts";

const A = "192.0.2.1";
const B = "192.0.2.2";

test("each pause is twice as long as the one before, up to an hour, and other neighbors have none", () => {
  const pauses = new NeighborPauses();
  const lengths: number[] = [];
  for (let nowMs = 0; lengths.length < 9; ) {
    pauses.limitReached(A, { routes: 10, nowMs });
    const startMs = nowMs;
    while (pauses.isPaused(A, { routes: 10, nowMs })) nowMs += PAUSE_MIN_MS;
    lengths.push(nowMs - startMs);
    expect(pauses.isPaused(B, { routes: 10, nowMs: startMs })).toBe(false);
  }
  expect(lengths.slice(0, 3)).toEqual([PAUSE_MIN_MS, 2 * PAUSE_MIN_MS, 4 * PAUSE_MIN_MS]);
  expect(lengths.slice(-2)).toEqual([PAUSE_MAX_MS, PAUSE_MAX_MS]);
});

test("a pause ends with fewer routes than ever were too many", () => {
  const pauses = new NeighborPauses();
  pauses.limitReached(A, { routes: 10, nowMs: 0 });
  expect(pauses.isPaused(A, { routes: 10, nowMs: 1 })).toBe(true);
  expect(pauses.isPaused(A, { routes: 9, nowMs: 1 })).toBe(false);
  pauses.limitReached(A, { routes: 9, nowMs: 2 });
  pauses.limitReached(A, { routes: 12, nowMs: 3 });
  expect(pauses.isPaused(A, { routes: 9, nowMs: 4 })).toBe(true);
  expect(pauses.isPaused(A, { routes: 8, nowMs: 4 })).toBe(false);
});

test("a limit long after the last one is a new one", () => {
  const pauses = new NeighborPauses();
  pauses.limitReached(A, { routes: 5, nowMs: 0 });
  const nowMs = PAUSE_MIN_MS + PAUSE_MAX_MS;
  pauses.limitReached(A, { routes: 10, nowMs });
  expect(pauses.isPaused(A, { routes: 10, nowMs: nowMs + PAUSE_MIN_MS - 1 })).toBe(true);
  expect(pauses.isPaused(A, { routes: 10, nowMs: nowMs + PAUSE_MIN_MS })).toBe(false);
  expect(pauses.isPaused(A, { routes: 9, nowMs })).toBe(false);
});
