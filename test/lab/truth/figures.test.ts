import { expect, test } from "bun:test";
import { byteCount, packetRate, scaled } from "../../../dashboard/text/format/numbers.ts";
import { difference, firstFigure } from "./figures.ts";

test.each([0, 7, 950, 9_994, 30_200, 999_499, 9_060_000, 1.24e9])("%d is read as it is written", (value) => {
  for (const text of [
    packetRate(value),
    `${packetRate(value)}, 1.2 Gbit/s`,
    `${scaled(value)} packets, ${byteCount(5)}`,
  ]) {
    expect(Math.abs(firstFigure(text) - value)).toBeLessThanOrEqual(0.006 * value);
  }
});

test("no figure is no number", () => {
  expect(firstFigure("not known")).toBeNaN();
});

test("a difference is a share of what should be", () => {
  expect([difference(105, 100), difference(95, 100)]).toEqual([1.05 - 1, 0.95 - 1]);
});
