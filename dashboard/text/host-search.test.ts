import { expect, test } from "bun:test";
import { searchFault } from "./host-search.ts";

test.each(["203", "203.0.113.", "203.0.113.7", "203.0.113.0/24", "2001:db8::/32", "db8", "::ffff"])(
  "%p finds hosts",
  (text) => {
    expect(searchFault(text)).toBeNull();
  },
);

test.each(["999.1/32", "203.0/16", "203.0.113.0/33", "203.0.113.0/", "x", "256.1"])(
  "%p is said to be wrong at its field",
  (text) => {
    expect(searchFault(text)).not.toBeNull();
  },
);
