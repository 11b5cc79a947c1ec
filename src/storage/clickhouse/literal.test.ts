import { expect, test } from "bun:test";
import { literal, sql } from "./literal.ts";

test("a text stays inside its quotes", () => {
  expect(literal("it's")).toBe("'it\\'s'");
  expect(literal("\\")).toBe("'\\\\'");
  expect(literal("\\' OR 1 = 1 --")).toBe("'\\\\\\' OR 1 = 1 --'");
  expect(literal("ünï\n\t\0🧱")).toBe("'ünï\n\t\0🧱'");
});

test("a number is itself, and nothing that is none gets in", () => {
  expect(literal(-1.5)).toBe("-1.5");
  expect(() => literal(Number.NaN)).toThrow(RangeError);
  expect(() => literal(Number.POSITIVE_INFINITY)).toThrow(RangeError);
});

test("a template takes its values as literals", () => {
  expect(sql`a >= ${1} AND b = ${"x'y"}`).toBe("a >= 1 AND b = 'x\\'y'");
  expect(sql`1`).toBe("1");
});
