import { expect, test } from "bun:test";
import { readIfNoneMatch } from "./etag.ts";

test.each([
  ['"a"', ['"a"']],
  [' "a" ', ['"a"']],
  ['W/"a"', ['"a"']],
  ['"a", "b"', ['"a"', '"b"']],
  ['"a",W/"b" ,  "c"', ['"a"', '"b"', '"c"']],
  ['"with, comma", "b"', ['"with, comma"', '"b"']],
  ['""', ['""']],
  ["bare", ['"bare"']],
  ['bare, "b"', ['"bare"', '"b"']],
])("%s names %p", (header, tags) => {
  expect(readIfNoneMatch(header)).toEqual(new Set(tags));
});

test("a star is any", () => {
  expect(readIfNoneMatch("*")).toBe("any");
  expect(readIfNoneMatch(" * ")).toBe("any");
});

test.each([null, "", "  ", '"open', '"a" "b"', ",", '"a",,"b"', 'a"b"'])("%p names nothing", (header) => {
  expect(readIfNoneMatch(header)).toBe(null);
});
