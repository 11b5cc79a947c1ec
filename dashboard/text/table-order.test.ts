import { expect, test } from "bun:test";
import { orderParameter, sortOf, sortText } from "./table-order.ts";

const FIRST = { key: "began", isDescending: true };
const KEYS = ["began", "Last seen"];

test("an order is in the address under the name of its table, unless it is the first one", () => {
  expect(orderParameter("Bans in force")).toBe("order.bans-in-force");
  expect(orderParameter("Список атак")).toBe("order.список-атак");
  expect(sortText(FIRST, FIRST)).toBeNull();
  expect(sortText({ key: "began", isDescending: false }, FIRST)).toBe("began");
  expect(sortText({ key: "Last seen", isDescending: true }, FIRST)).toBe("-Last seen");
});

test("an order of the address is taken, and one by a column that is not there ignored", () => {
  expect(sortOf("-Last seen", FIRST, KEYS)).toEqual({ key: "Last seen", isDescending: true });
  expect(sortOf("began", FIRST, KEYS)).toEqual({ key: "began", isDescending: false });
  for (const text of [null, "", "-", "nosuch", "--began"]) expect(sortOf(text, FIRST, KEYS)).toBe(FIRST);
});
