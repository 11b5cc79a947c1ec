import { expect, test } from "bun:test";
import { seededDraws } from "./seeded-draws.ts";

const draws = (...of: Parameters<typeof seededDraws>) => {
  const random = seededDraws(...of);
  return Array.from({ length: 5 }, random);
};

test("the same seed and names give the same numbers, others give others", () => {
  const own = draws(0, "203.0.113.7", "incoming", "pps");
  expect(draws(0, "203.0.113.7", "incoming", "pps")).toEqual(own);
  for (const other of [
    draws(1, "203.0.113.7", "incoming", "pps"),
    draws(0, "203.0.113.8", "incoming", "pps"),
    draws(0, "203.0.113.7", "outgoing", "pps"),
    draws(0, "203.0.113.7incoming", "pps"),
  ]) {
    expect(other).not.toEqual(own);
  }
});

test("numbers are spread evenly from 0 to below 1", () => {
  const random = seededDraws(0, "203.0.113.7");
  const tenths = new Array(10).fill(0);
  for (let i = 0; i < 20_000; i++) tenths[Math.floor(10 * random())]++;
  for (const count of tenths) expect(count).toBeWithin(1800, 2200);
});
