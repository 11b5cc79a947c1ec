import { expect, test } from "bun:test";
import { HostSpread } from "./host-spread.ts";

/** Sixty samples of 100 packets, of 60 of many hosts: no two of one host. */
const ALL_APART = { sum: 6000, squares: 60 * 100 ** 2, variance: 100 * 6000 };

test("windows that have samples in common count once", () => {
  const spread = new HostSpread(8);
  const passes = (everyMs: number, key: string) => {
    for (let pass = 1; ; pass++) {
      if (spread.isOver(1000, key, ALL_APART, { nowMs: pass * everyMs, windowMs: 1000 })) return pass;
    }
  };
  // 1770 pairs a window, of which 1.77 are of one of a thousand hosts.
  expect(passes(1000, "a")).toBe(10);
  expect(passes(500, "b")).toBe(19);
});

test("an exact window is judged by itself", () => {
  const spread = new HostSpread(8);
  const exact = { sum: 6000, squares: 600_000, variance: 0 };
  for (let pass = 0; pass < 20; pass++) {
    expect(spread.isOver(61, "a", exact, { nowMs: pass * 1000, windowMs: 1000 })).toBe(false);
  }
  expect(spread.isOver(60, "a", exact, { nowMs: 0, windowMs: 1000 })).toBe(true);
});

test("at its bound a prefix is judged by one window, and counted; one that was calm gives its place", () => {
  const spread = new HostSpread(1);
  const at = (seconds: number) => ({ nowMs: 1000 * seconds, windowMs: 1000 });
  expect(spread.isOver(1000, "a", ALL_APART, at(1))).toBe(false);
  expect(spread.isOver(1000, "b", ALL_APART, at(1))).toBe(false);
  expect([spread.refused, spread.isOver(50, "b", ALL_APART, at(1))]).toEqual([1, true]);
  spread.forget(at(10));
  for (let second = 11; second < 30; second++) spread.isOver(1000, "b", ALL_APART, at(second));
  expect(spread.refused).toBe(20);
  spread.forget(at(40));
  for (let second = 41; second < 50; second++) spread.isOver(1000, "b", ALL_APART, at(second));
  expect([spread.refused, spread.isOver(1000, "b", ALL_APART, at(50))]).toEqual([20, true]);
});

test("pairs of a host that was alone for hours hide no carpet for long", () => {
  const spread = new HostSpread(8);
  const alone = { sum: 6000, squares: 6000 * 6000, variance: 100 * 6000 };
  const at = (seconds: number) => ({ nowMs: 1000 * seconds, windowMs: 1000 });
  const hours = 36_000;
  for (let second = 0; second < hours; second++) expect(spread.isOver(70, "a", alone, at(second))).toBe(false);
  let found = hours;
  while (!spread.isOver(70, "a", ALL_APART, at(found)) && found < 2 * hours) found++;
  expect(found - hours).toBeLessThan(600);
});
