import { expect, test } from "bun:test";
import { looksLikeAddress } from "./address.ts";

test.each(["203.0.113.7", "2001:db8::7", "::", "999.1.1.1"])("%s may be an address", (text) => {
  expect(looksLikeAddress(text)).toBe(true);
});

test.each(["", "203.0.113", "203.0.113.7/32", "a:b", "host.example", "2001:db8::/48"])("%p is none", (text) => {
  expect(looksLikeAddress(text)).toBe(false);
});
