import { expect, test } from "bun:test";
import { rewritten } from "./node-text.ts";
import { scrubReportCheck } from "./scrub-node.ts";

test.each([
  ['{ "a" : 1.50,\n "b":[18446744073709551615, -0.0, 1e3] }', '{"a":1.50,"b":[18446744073709551615,-0.0,1e3]}'],
  ['{"a":1,"a":2,"__proto__":{"x":"\\u202e\\u0000"}}', '{"a":2,"__proto__":{"x":"\u202e\\u0000"}}'],
  ['"text"', '"text"'],
  // At the bound.
  [`0.${"0".repeat(37)}1`, `0.${"0".repeat(37)}1`],
])("%s is %s", (text, expected) => {
  expect(rewritten(text)).toEqual({ kind: "text", text: expected });
});

test.each([`{"a":[${"9".repeat(5000)}]}`, '{"a":1e999}', `0.${"0".repeat(38)}1`])("%s is refused", (text) => {
  expect(rewritten(text)).toMatchObject({ kind: "invalid_body" });
  expect(scrubReportCheck.check(JSON.parse(text), text)).toMatchObject({ kind: "invalid_body" });
});
