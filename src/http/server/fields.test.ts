import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { fieldCheck } from "./fields.ts";

const check = fieldCheck(
  Type.Object(
    { ip: Type.String(), ttl: Type.Optional(Type.Integer({ minimum: 1 })), "a/b~c": Type.Optional(Type.String()) },
    { additionalProperties: false },
  ),
);

describe("fields", () => {
  test("that fit the schema come back as they are", () => {
    expect(check.check({ ip: "x", ttl: 1 })).toEqual({ kind: "fields", fields: { ip: "x", ttl: 1 } });
  });

  test.each([
    [{}, "ip is required"],
    [{ ip: 5 }, "ip must be a string"],
    [{ ip: null }, "ip must be a string"],
    [{ ip: "x", extra: 1 }, 'unknown field "extra"'],
    [JSON.parse('{"ip":"x","__proto__":1}'), 'unknown field "__proto__"'],
    [{ ip: "x", 'quo"te\n': 1 }, 'unknown field "quo\\"te\\n"'],
    [{ ip: "x", "a/b~c": 1 }, "a/b~c must be a string"],
    [{ ip: "x", ttl: 0 }, "ttl: expected integer to be greater or equal to 1"],
    [[], "not an object"],
    ["x", "not an object"],
    [null, "not an object"],
  ])("%j is refused, and the field named", (value: unknown, detail) => {
    expect(check.check(value)).toEqual({ kind: "invalid_body", detail });
  });
});
