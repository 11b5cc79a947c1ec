import { expect, test } from "bun:test";
import { csvText } from "./csv.ts";

test("rows are lines, and what would end a cell is quoted", () => {
  expect(
    csvText([
      ["a", 'say "no", twice'],
      ["two\nlines", " edge"],
    ]),
  ).toBe('a,"say ""no"", twice"\r\n"two\nlines"," edge"\r\n');
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "  =1", "\ufeff=1"])(
  "%p is no formula",
  (text) => {
    expect(csvText([[text]])).toMatch(/^"?'/);
  },
);

test("what some spreadsheets divide cells at is quoted, and a file that is cut says so", () => {
  expect(
    csvText(
      [
        ["a;=1", "b"],
        ["\tc", "d"],
      ],
      "more than 2",
    ),
  ).toBe('"a;=1",b\r\n"\'\tc",d\r\nCUT: more than 2,\r\n');
});

test("what is harmless stays as it is", () => {
  expect(csvText([["2026-03-01 12:00:00", "2001:db8::1->192.0.2.1", "0", ""]])).toBe(
    "2026-03-01 12:00:00,2001:db8::1->192.0.2.1,0,\r\n",
  );
});
