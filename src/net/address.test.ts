import { describe, expect, test } from "bun:test";
import { isIPv6 } from "node:net";
import { address as ip } from "../../test/fixtures/host-rows.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { addressFamily, addressFromBytes, addressOrder, addressToBytes, parseAddress } from "./address.ts";

describe("parseAddress", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["0.0.0.0", "0.0.0.0"],
    ["255.255.255.255", "255.255.255.255"],
    ["::", "::"],
    ["::1", "::1"],
    ["2001:DB8::A", "2001:db8::a"],
    ["2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::fffe:1:2", "::fffe:1:2"],
  ])("reads %s as %s", (text, canonical) => {
    expect<string | null>(parseAddress(text)).toBe(canonical);
  });

  test.each([
    "",
    " 192.0.2.1",
    "192.0.2.1\n",
    "192.0.2.01",
    "192.0.2.256",
    "192.0.2",
    "10.1",
    "3232235777",
    "0x7f.0.0.1",
    "192.0.2.1.",
    "192.0.2.1/32",
    "１92.0.2.1",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1::2:3:4:5:6:7:8",
    "00001::",
    "g::1",
    "fe80::1%eth0",
    "[::1]",
    "::ffff:192.0.2.1",
    "::ffff:c000:201",
    "0:0:0:0:0:FFFF:c000:201",
    "64:ff9b::192.0.2.1",
    "::1/128",
  ])("refuses %p", (text) => {
    expect(parseAddress(text)).toBeNull();
  });
});

describe("the 16-byte form", () => {
  test("maps IPv4 into ::ffff:0:0/96", () => {
    expect([...addressToBytes(ip("192.0.2.254"))]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 254]);
  });

  test("holds IPv6 as it is", () => {
    const expected = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34];
    expect([...addressToBytes(ip("2001:db8::1234"))]).toEqual(expected);
    expect([...addressToBytes(ip("::"))]).toEqual(Array.from({ length: 16 }, () => 0));
  });

  test("is read at an offset", () => {
    const rows = new Uint8Array(48);
    rows.set(addressToBytes(ip("198.51.100.7")), 16);
    rows.set(addressToBytes(ip("2001:db8::7")), 32);
    expect<string>(addressFromBytes(rows)).toBe("::");
    expect<string>(addressFromBytes(rows, 16)).toBe("198.51.100.7");
    expect<string>(addressFromBytes(rows, 32)).toBe("2001:db8::7");
  });

  test("comes back as the same canonical text, for any address", () => {
    const seed = 20_260_101;
    const next = seededRandom(seed);
    for (let round = 0; round < 20_000; round++) {
      const bytes = new Uint8Array(16);
      // Many zero groups, so that every shape of `::` occurs.
      for (let i = 0; i < 16; i += 2) {
        if (next() < 0.6) continue;
        bytes[i] = next() < 0.5 ? 0 : next() * 256;
        bytes[i + 1] = next() * 256;
      }
      if (next() < 0.2) bytes.set([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]);
      const text = addressFromBytes(bytes);
      expect([...addressToBytes(text)], `seed ${seed}: ${text}`).toEqual([...bytes]);
      expect(parseAddress(text), `seed ${seed}: ${text}`).toBe(text);
    }
  });
});

test("agrees with node:net on what is IPv6, but for zones, dotted tails and mapped addresses", () => {
  const seed = 7;
  const next = seededRandom(seed);
  const alphabet = ["0", "1", "f", "A", ":", "::", ":", "ffff", "db8", "g"];
  for (let round = 0; round < 20_000; round++) {
    let text = "";
    for (let i = 0; i < 1 + next() * 16; i++) text += alphabet[Math.floor(next() * alphabet.length)];
    if (!text.includes(":") || /^[0:]*:ffff:[^:]*:[^:]*$/i.test(text)) continue;
    expect(parseAddress(text) !== null, `seed ${seed}: ${text}`).toBe(isIPv6(text));
  }
});

test("knows the family", () => {
  expect(addressFamily(ip("192.0.2.1"))).toBe(4);
  expect(addressFamily(ip("2001:db8::1"))).toBe(6);
});

test("sorts IPv4 first, then by number and not by text", () => {
  const sorted = ["9.0.0.1", "10.0.0.1", "192.0.2.1", "::1", "2001:db8::9", "2001:db8::10", "2001:db8:1::"].map(ip);
  expect(sorted.map(addressOrder).toSorted()).toEqual(sorted.map(addressOrder));
  expect(new Set(sorted.map(addressOrder)).size).toBe(sorted.length);
});
