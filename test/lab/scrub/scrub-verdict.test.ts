import { expect, test } from "bun:test";
import { complaintsOf, type Measured } from "./scrub-verdict.ts";

const GOOD: Measured = {
  floodSeconds: 30,
  flood: { sent: 100_000, dropped: 99_000, arrived: 1000 },
  beforeFirstDrop: { sent: 1000, dropped: 200, arrived: 800 },
  requests: { requests: 1000, served: 990, medianMs: 1, slowestMs: 20 },
  requestsDue: 2000,
};
const flood = (dropped: number, arrived: number) => ({ flood: { sent: 100_000, dropped, arrived } });
const requests = (made: number, served: number) => ({
  requests: { ...GOOD.requests, requests: made, served },
});

test.each<[string, Partial<Measured>, readonly string[]]>([
  ["at every bound", {}, []],
  ["too much of the flood", flood(98_999, 1001), ["1.00 % of the flood arrived"]],
  ["as much of a short one, before the first drop", { ...flood(98_999, 1001), floodSeconds: 29 }, []],
  [
    "too much of a short one later",
    { ...flood(98_000, 2000), floodSeconds: 29 },
    ["after the first drop 1.21 % of the flood arrived"],
  ],
  ["a jam at its bound", flood(98_000, 1000), []],
  ["a jam", flood(97_999, 1000), ["1001 packets of the flood were lost on the way"]],
  ["packets counted twice", flood(99_001, 1000), ["more was dropped and arrived than was sent: 1 packets"]],
  ["requests that fail", requests(1000, 989), ["of 1000 requests 11 were not served"]],
  [
    "what was not counted",
    { flood: { sent: Number.NaN, dropped: Number.NaN, arrived: Number.NaN } },
    [
      "after the first drop NaN % of the flood arrived",
      "NaN % of the flood arrived",
      "NaN packets of the flood were lost on the way",
    ],
  ],
  ["few requests", requests(999, 999), ["only 999 of 2000 requests were made: the machine is too busy"]],
])("judges %s", (_, changed, complaints) => {
  expect(complaintsOf({ ...GOOD, ...changed })).toEqual([...complaints]);
});
