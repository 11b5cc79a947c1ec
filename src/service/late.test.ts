import { expect, test } from "bun:test";
import { Late } from "./late.ts";

test("what is late is refused until it is bound, and bound once", () => {
  const parts = new Late<{ bans: number }>("parts");
  expect(() => parts.get()).toThrow("parts: called before it is built");
  parts.bind({ bans: 7 });
  expect(parts.get().bans).toBe(7);
  expect(() => parts.bind({ bans: 8 })).toThrow("parts: bound twice");
  expect(parts.get().bans).toBe(7);
});
