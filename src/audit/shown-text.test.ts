import { expect, test } from "bun:test";
import { hasUnshown, shown } from "./shown-text.ts";

test.each([
  ["ticket 7, Zürich – 東京 🙂", "ticket 7, Zürich – 東京 🙂"],
  ["a\nb", "a\\u000ab"],
  ["\u202eevil\u2069\u200f", "\\u202eevil\\u2069\\u200f"],
  ["\u0000\u009b\u2028", "\\u0000\\u009b\\u2028"],
])("%j is shown as %j", (text, expected) => {
  expect(shown(text)).toBe(expected);
  expect(hasUnshown(text)).toBe(text !== expected);
});
