import { expect, test } from "bun:test";
import { Backoff } from "./backoff.ts";

const TIMES = { retryMinMs: 100, retryMaxMs: 700 };

test("each failure in a row doubles the wait, up to its bound, and a success resets it", () => {
  const backoff = new Backoff(TIMES);
  expect(Array.from({ length: 5 }, () => backoff.next())).toEqual([100, 200, 400, 700, 700]);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});

test("the spread changes a wait, not those that follow", () => {
  const spreads = [0.5, 1.5, 1];
  const backoff = new Backoff(TIMES, () => spreads.shift() ?? 1);
  expect([backoff.next(), backoff.next(), backoff.next()]).toEqual([50, 300, 400]);
});
