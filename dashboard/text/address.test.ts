import { expect, test } from "bun:test";
import { addressOrder, looksLikeAddress } from "./address.ts";

test.each(["203.0.113.7", "2001:db8::7", "::", "999.1.1.1"])("%s may be an address", (text) => {
  expect(looksLikeAddress(text)).toBe(true);
});

test.each(["", "203.0.113", "203.0.113.7/32", "a:b", "host.example", "2001:db8::/48"])("%p is none", (text) => {
  expect(looksLikeAddress(text)).toBe(false);
});

test("addresses stand by number, IPv4 first", () => {
  const ordered = ["9.0.0.1", "10.0.0.0/8", "203.0.113.9", "203.0.113.10", "::1", "2001:db8::2", "2001:db8::1:0"];
  const shuffled = ordered.toReversed().toSorted((a, b) => (addressOrder(a) < addressOrder(b) ? -1 : 1));
  expect(shuffled).toEqual(ordered);
});
