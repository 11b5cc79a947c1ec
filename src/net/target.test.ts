import { expect, test } from "bun:test";
import { prefix } from "../../test/fixtures/networks.ts";
import { commonText, targetMatcher } from "./target.ts";

test.each([
  ["192.0.2.0/24", "192.0.2."],
  ["192.0.2.128/25", "192.0.2."],
  ["192.0.0.0/20", "192.0."],
  ["192.0.2.7/32", "192.0.2.7"],
  ["128.0.0.0/1", ""],
  ["2001:db8::/32", ""],
])("the texts of addresses inside %s begin with %p", (text, common) => {
  const target = prefix(text);
  expect(commonText(target)).toBe(common);
  const { address } = target;
  expect(targetMatcher(target)(address)).toBe(true);
  expect(address.startsWith(common)).toBe(true);
});
