import { describe, expect, test } from "bun:test";
import { exactly, isInRanges, onlyValue, type Range, rangesText, singleValues, withoutValue } from "./range.ts";

const range = (from: number, to = from): Range => ({ from, to });

test("no range holds any value, and others what lies between their ends", () => {
  expect(isInRanges([], 7)).toBe(true);
  const ranges = [range(2, 5), range(9)];
  expect([1, 2, 5, 6, 8, 9, 10].filter((value) => isInRanges(ranges, value))).toEqual([2, 5, 9]);
});

test("one value is known from several and from none", () => {
  expect([exactly(0), exactly(17)].map(onlyValue)).toEqual([0, 17]);
  expect([[], [range(1, 2)], [range(1), range(2)]].map(onlyValue)).toEqual([null, null, null]);
});

describe("a value is taken out", () => {
  test.each<[readonly Range[], readonly Range[]]>([
    [[range(0, 255)], [range(0, 5), range(7, 255)]],
    [[range(6, 9)], [range(7, 9)]],
    [[range(1, 6)], [range(1, 5)]],
    [[range(1), range(6)], [range(1)]],
    [[range(7, 9)], [range(7, 9)]],
  ])("of %j: %j", (ranges, left) => {
    expect(withoutValue(ranges, 6)).toEqual(left);
  });
});

test("single values are as many as are allowed, or none", () => {
  expect(singleValues([range(1, 2), range(9)], 3)).toEqual([[range(1)], [range(2)], [range(9)]]);
  expect(singleValues([range(1, 2), range(9)], 2)).toBeNull();
  expect(singleValues([], 0)).toEqual([[]]);
});

test("as text", () => {
  expect(rangesText([range(53), range(8000, 8010)])).toBe("53,8000-8010");
  expect(rangesText([])).toBeNull();
});
