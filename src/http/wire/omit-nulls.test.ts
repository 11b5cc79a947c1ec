import { expect, test } from "bun:test";
import { omitNulls } from "./omit-nulls.ts";

test("null is left out; what is merely empty stays", () => {
  expect(omitNulls({ a: null, b: 0, c: "", d: false, e: [], f: 1 })).toEqual({ b: 0, c: "", d: false, e: [], f: 1 });
});
