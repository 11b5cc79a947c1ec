import { expect, test } from "bun:test";
import { withRest } from "./share-rows.ts";

const row = (key: string, packets: number) => ({ key, packets, bytes: 7 });

test("shares that do not sum to the whole have a row for the rest", () => {
  expect(withRest([row("AS1", 2), row("AS2", 1)], 100, "not known").at(-1)).toEqual({
    key: "not known",
    packets: 97,
    bytes: 0,
  });
});

test("shares that do need none, nor does a rest that rounds to nothing", () => {
  expect(withRest([row("AS1", 100)], 100, "not known")).toHaveLength(1);
  expect(withRest([row("AS1", 9999)], 10_000, "not known")).toHaveLength(1);
  expect(withRest([], 100, "not known")).toEqual([]);
  expect(withRest([row("AS1", 1)], 0, "not known")).toHaveLength(1);
});
