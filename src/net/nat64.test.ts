import { expect, test } from "bun:test";
import type { IpAddress } from "./address.ts";
import { embeddedIpv4, parseNat64Prefix } from "./nat64.ts";

// RFC 6052, section 2.4: 192.0.2.33 by each length.
test.each([
  ["2001:db8::/32", "2001:db8:c000:221::"],
  ["2001:db8:100::/40", "2001:db8:1c0:2:21::"],
  ["2001:db8:122::/48", "2001:db8:122:c000:2:2100::"],
  ["2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"],
  ["2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100:0"],
  ["2001:db8:122:344::/96", "2001:db8:122:344::c000:221"],
  ["64:ff9b::/96", "64:ff9b::c000:221"],
])("%s has the IPv4 address in %s", (text, address) => {
  const prefix = parseNat64Prefix(text);
  expect(prefix === null ? null : embeddedIpv4(address as IpAddress, [prefix])).toEqual(["192.0.2.33"] as never);
});

test("other lengths and IPv4 are no prefixes of a translator, and other addresses have none in them", () => {
  expect(["2001:db8::/33", "2001:db8::/128", "10.0.0.0/32", "x"].map(parseNat64Prefix)).toEqual([
    null,
    null,
    null,
    null,
  ]);
  const prefix = parseNat64Prefix("2001:db8::/32");
  if (prefix === null) throw new Error("no prefix");
  expect(embeddedIpv4("2001:db9::1" as IpAddress, [prefix])).toEqual([]);
});
