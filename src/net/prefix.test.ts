import { describe, expect, test } from "bun:test";
import { address as ip } from "../../test/fixtures/host-rows.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import {
  coversMappedIpv4,
  enclosingPrefix,
  hostPrefix,
  mappedLength,
  parsePrefix,
  parsePrefixLoosely,
  prefixContains,
} from "./prefix.ts";

describe("parsePrefix", () => {
  test("gives canonical text, first address, length and family", () => {
    expect(prefix("2001:DB8:0:0::/32")).toEqual({
      text: "2001:db8::/32",
      address: ip("2001:db8::"),
      length: 32,
      family: 6,
    });
    expect(prefix("192.0.2.0/24")).toEqual({ text: "192.0.2.0/24", address: ip("192.0.2.0"), length: 24, family: 4 });
  });

  test.each(["0.0.0.0/0", "::/0", "192.0.2.1/32", "2001:db8::1/128", "128.0.0.0/1", "2001:db8::/33"])(
    "takes %s",
    (text) => {
      expect(parsePrefix(text)?.text).toBe(text);
    },
  );

  test.each([
    "192.0.2.0",
    "192.0.2.0/",
    "192.0.2.0/33",
    "192.0.2.0/024",
    "192.0.2.0/-1",
    "192.0.2.0/24/24",
    "192.0.2.0/24 ",
    "192.0.2.0/255.255.255.0",
    "2001:db8::/129",
    "::ffff:0:0/96",
    "10.1/16",
    "/24",
  ])("refuses %p", (text) => {
    expect(parsePrefix(text)).toBeNull();
    expect(parsePrefixLoosely(text)).toBeNull();
  });

  test.each([
    ["192.0.2.1/24", "192.0.2.0/24"],
    ["192.0.2.128/24", "192.0.2.0/24"],
    ["10.1.0.0/15", "10.0.0.0/15"],
    ["2001:db8::1/127", "2001:db8::/127"],
    ["1::/0", "::/0"],
  ])("refuses host bits in %s, and can name %s instead", (text, meant) => {
    expect(parsePrefix(text)).toBeNull();
    expect(parsePrefixLoosely(text)?.text).toBe(meant);
  });
});

test("a host prefix is /32 or /128", () => {
  expect(hostPrefix(ip("192.0.2.1")).text).toBe("192.0.2.1/32");
  expect(hostPrefix(ip("2001:db8::1")).text).toBe("2001:db8::1/128");
});

test("finds the enclosing prefix of an address", () => {
  expect(enclosingPrefix(ip("192.0.2.77"), 26).text).toBe("192.0.2.64/26");
  expect(enclosingPrefix(ip("2001:db8:1:2::3"), 48).text).toBe("2001:db8:1::/48");
});

test("counts IPv4 lengths from the mapped form", () => {
  expect(mappedLength(prefix("192.0.2.0/24"))).toBe(120);
  expect(mappedLength(prefix("2001:db8::/32"))).toBe(32);
});

test.each([
  ["192.0.2.0/25", "192.0.2.0", true],
  ["192.0.2.0/25", "192.0.2.127", true],
  ["192.0.2.0/25", "192.0.2.128", false],
  ["192.0.2.0/25", "192.0.1.255", false],
  ["0.0.0.0/0", "203.0.113.9", true],
  ["::/0", "203.0.113.9", false],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["2001:db8::/33", "2001:db8:7fff::1", true],
  ["2001:db8::/33", "2001:db8:8000::1", false],
])("%s contains %s: %p", (outer, inner, expected) => {
  expect(prefixContains(prefix(outer), ip(inner))).toBe(expected);
});

test.each([
  ["::/0", true],
  ["::/80", true],
  ["::/81", false],
  ["::fffe:0:0/95", true],
  ["::1/128", false],
  ["2001:db8::/32", false],
  ["0.0.0.0/0", false],
])("%s covers the mapped form of IPv4: %p", (text, expected) => {
  expect(coversMappedIpv4(prefix(text))).toBe(expected);
});
