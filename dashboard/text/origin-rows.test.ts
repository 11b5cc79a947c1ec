import { expect, test } from "bun:test";
import { filtered, withRest } from "./origin-rows.ts";

test("what no part has is a row of its own", () => {
  const rows = withRest([{ key: "AS1", pps: 10, mbps: 3 }], { pps: 100, mbps: 100 }, "not known");
  expect(rows.at(-1)).toEqual({ key: "not known", pps: 90, mbps: 97, isRest: true });
});

test("parts that are all of it have none", () => {
  expect(withRest([{ key: "AS1", pps: 10, mbps: 100 }], { pps: 10, mbps: 100 }, "not known")).toHaveLength(1);
  expect(withRest([], { pps: 10, mbps: 100 }, "not known")).toEqual([]);
});

test("what a filter leaves out is one row, so that the shares are still those of all", () => {
  const rows = withRest(
    [
      { key: "DE", pps: 10, mbps: 30 },
      { key: "FR", pps: 20, mbps: 30 },
    ],
    { pps: 100, mbps: 100 },
    "not known",
  );
  const kept = filtered(rows, (key) => key !== "DE");
  expect(kept.map(({ key, mbps }) => [key, mbps])).toEqual([
    ["FR", 30],
    ["not known", 40],
    ["left out by the filter", 30],
  ]);
  expect(filtered(rows, () => true)).toEqual(rows);
});
