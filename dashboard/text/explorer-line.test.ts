import { expect, test } from "bun:test";
import type { TotalTrafficPointWire } from "../../src/http/wire/traffic/traffic.ts";
import { lineTexts } from "./explorer-line.ts";

const point = (pps: number, max: number) => ({ pps, max_pps: max }) as TotalTrafficPointWire;
const maxima = [point(30_000, 80_000), point(20_000, 99_100), null];
const means = [30_000, 20_000, null];

test("a line through the highest rates ends in the table as in the legend, and has no means of others", () => {
  const values = [80_000, 99_100, null];
  expect(lineTexts({ values, means, maxima, isMaximaOnly: true }, "pps")).toEqual({
    mean: "–",
    highest: "99.1 kpps",
    last: "99.1 kpps",
  });
});

test("a line through means has the last of these", () => {
  expect(lineTexts({ values: means, means, maxima }, "pps")).toEqual({
    mean: "25.0 kpps",
    highest: "99.1 kpps",
    last: "20.0 kpps",
  });
  expect(lineTexts({ values: [null], means: [null], maxima: null }, "pps")).toEqual({
    mean: "–",
    highest: "–",
    last: "–",
  });
});
