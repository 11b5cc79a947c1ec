import { expect, test } from "bun:test";
import { rewritten } from "./node-text.ts";
import { scrubReportCheck } from "./scrub-node.ts";

test.each([
  ['{ "a" : 1.50,\n "b":[18446744073709551615, -0.0, 1e3] }', '{"a":1.50,"b":[18446744073709551615,-0.0,1e3]}'],
  ['{"a":1,"a":2,"__proto__":{"x":"\\u202e\\u0000"}}', '{"a":2,"__proto__":{"x":"\u202e\\u0000"}}'],
  ['"text"', '"text"'],
])("%s is %s", (text, expected) => {
  expect(rewritten(text)).toEqual({ kind: "text", text: expected });
});

test.each([`{"a":[${"9".repeat(5000)}]}`, '{"a":1e999}', `{"a":0.${"0".repeat(40)}1}`])("%s is refused", (text) => {
  expect(rewritten(text)).toMatchObject({ kind: "invalid_body" });
  expect(scrubReportCheck.check(JSON.parse(text), text)).toMatchObject({ kind: "invalid_body" });
});
