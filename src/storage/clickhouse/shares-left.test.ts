import { expect, test } from "bun:test";
import { sharesLeft } from "./shares-left.ts";

const left = (sizes: Record<string, number>, room: number) =>
  Object.fromEntries(sharesLeft(new Map(Object.entries(sizes)), room));

test.each([
  ["there is room for all", { a: 3, b: 7 }, 10, {}],
  ["one has more than all others", { a: 3, b: 70 }, 10, { b: 7 }],
  ["two have too much, they keep the same", { a: 2, b: 40, c: 60 }, 10, { b: 4, c: 4 }],
  ["all have too much", { a: 40, b: 60 }, 10, { a: 5, b: 5 }],
  ["there is no room", { a: 4 }, 0, { a: 0 }],
  ["no tenant has anything", {}, 10, {}],
])("where %s", (_, sizes, room, kept) => {
  expect(left(sizes as Record<string, number>, room)).toEqual(kept as Record<string, number>);
});
