import { expect, test } from "bun:test";
import { lines, partOf, plain, rowsOf, short, since, table } from "./table.ts";

test("columns are as wide as their longest cells, and lines without a value are left out", () => {
  const columns = [
    ["NAME", ({ name }) => name],
    ["UP", ({ up }) => up],
  ] satisfies Parameters<typeof table>[1];
  const rows = rowsOf({ rows: [{ name: "edge1", up: true }, 7, null, { up: false }] }, "rows");
  expect(table(rows, columns, "None.").split("\n")).toEqual(["NAME   UP", "edge1  yes", "-      no"]);
  expect(table(rowsOf({ rows: {} }, "rows"), columns, "None.")).toBe("None.");
  const pairs = { a: 1, long: "x", none: [] };
  expect(lines(Object.entries(partOf({ pairs }, "pairs")))).toBe("a     1\nlong  x");
  expect([partOf({ pairs: null }, "pairs"), partOf({}, "pairs")]).toEqual([{}, {}]);
});

test("texts of others cannot command the terminal", () => {
  expect(plain("a\u001b[2Jb\u202ec")).toBe("a?[2Jb?c");
  expect([undefined, "", ["a", "b"], true, false, { a: 1 }].map(plain).join(" ")).toBe('- - a, b yes no {"a":1}');
});

test("figures and times are short", () => {
  const figures = [0, 12, 213_402.5, 1e7, -5000, 1e15, Number.NaN, "7"].map(short);
  expect(figures.join("|")).toBe("0|12|213 k|10 M|-5 k|1000 T|-|-");
  const begin = Date.parse("2026-03-01T12:00:00Z");
  const ends = [-5, 30, 119, 120, 7169, 7170, 7500].map((seconds) => since(begin, begin + 1000 * seconds));
  expect(ends).toEqual(["0 s", "30 s", "119 s", "2 min", "119 min", "2 h 0 min", "2 h 5 min"]);
  expect([since("2026-03-01T12:00:00Z", begin + 1000), since(begin, undefined)]).toEqual(["1 s", "-"]);
});
