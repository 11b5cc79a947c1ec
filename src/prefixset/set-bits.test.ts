import { describe, expect, test } from "bun:test";
import { PREFIX_SETS_MAX } from "../limits.ts";
import { assignBits } from "./set-bits.ts";

const none = Array<string>(PREFIX_SETS_MAX).fill("");
const inUse = (names: readonly string[]) =>
  Object.fromEntries([...names.entries()].filter(([, name]) => name !== "").map(([bit, name]) => [name, bit]));

describe("the bit of a set", () => {
  test("is kept, whatever the order and what else comes and goes", () => {
    const first = assignBits(none, ["a", "b", "c"]);
    expect(inUse(first)).toEqual({ a: 0, b: 1, c: 2 });
    expect(inUse(assignBits(first, ["c", "a", "d"]))).toEqual({ a: 0, c: 2, d: 3 });
  });

  test("is not one that a set had just before, whose rules may still be there", () => {
    const first = assignBits(none, ["a", "b"]);
    const second = assignBits(first, ["b", "c"]);
    expect(inUse(second)).toEqual({ b: 1, c: 2 });
    expect(inUse(assignBits(second, ["b", "c", "d"]))).toEqual({ d: 0, b: 1, c: 2 });
  });

  test("is one of 64, also when all are taken and all change", () => {
    const all = Array.from({ length: PREFIX_SETS_MAX }, (_, i) => `a${i}`);
    const others = all.map((name) => `${name}b`);
    expect(new Set(assignBits(assignBits(none, all), others))).toEqual(new Set(others));
    expect(() => assignBits(none, [...all, "one more"])).toThrow("more sets than bits");
  });
});
