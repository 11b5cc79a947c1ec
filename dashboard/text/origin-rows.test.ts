import { expect, test } from "bun:test";
import { withRest } from "./origin-rows.ts";

test("what no part has is a row of its own", () => {
  const rows = withRest([{ key: "AS1", pps: 10, mbps: 3 }], { pps: 100, mbps: 100 }, "not known");
  expect(rows.at(-1)).toEqual({ key: "not known", pps: 90, mbps: 97 });
});

test("parts that are all of it have none", () => {
  expect(withRest([{ key: "AS1", pps: 10, mbps: 100 }], { pps: 10, mbps: 100 }, "not known")).toHaveLength(1);
  expect(withRest([], { pps: 10, mbps: 100 }, "not known")).toEqual([]);
});
