import { describe, expect, test } from "bun:test";
import { ADDRESS_BYTES, parseAddress, writeAddress } from "../net/address.ts";
import { canonicalPrefix } from "../net/prefix.ts";
import { PrefixColumnsWriter } from "../net/prefix-columns.ts";
import { changeFault, sizeOf } from "./set-size.ts";
import { usersFault, usersMoved } from "./set-users.ts";

function columns(...prefixes: string[]) {
  const writer = new PrefixColumnsWriter();
  for (const text of prefixes) writer.add(canonicalPrefix(text));
  return writer.columns();
}

function rows(...addresses: string[]): Uint8Array {
  const bytes = new Uint8Array(ADDRESS_BYTES * addresses.length);
  for (const [i, text] of addresses.entries()) {
    const address = parseAddress(text);
    if (address === null) throw new Error(text);
    writeAddress(address, bytes.subarray(ADDRESS_BYTES * i, ADDRESS_BYTES * (i + 1)));
  }
  return bytes;
}

const USERS = rows("9.9.9.9", "2001:db8::1", "8.8.8.8", "192.0.2.1", "192.0.2.255", "192.0.3.0", "2001:db9::1");

describe("users that a newer file moves", () => {
  test.each([
    ["none by itself", [], [], 0, 0],
    ["in by a prefix, and none beside it", [], ["192.0.2.0/24"], 2, 0],
    ["out of one", ["192.0.2.0/24"], ["192.0.2.0/25"], 0, 1],
    ["in by one address", [], ["9.9.9.9/32"], 1, 0],
    ["in by IPv6", [], ["2001:db8::/32"], 1, 0],
    ["all of a family", [], ["0.0.0.0/0"], 5, 0],
    ["once by prefixes that overlap", [], ["8.0.0.0/7", "8.0.0.0/8", "8.8.8.8/32"], 2, 0],
    ["none where the same is written otherwise", ["8.0.0.0/7"], ["9.0.0.0/8", "8.0.0.0/8"], 0, 0],
  ])("%s", (_, before, now, into, outOf) => {
    expect(usersMoved(columns(...before), columns(...now), USERS)).toEqual({ known: 7, into, outOf });
  });

  test("are too many above the share, where enough are known", () => {
    expect(usersFault({ known: 20, into: 2, outOf: 0 }, 10)).toBeNull();
    expect(usersFault({ known: 20, into: 2, outOf: 1 }, 10)).toStartWith("takes in 2 of the 20 users");
    expect(usersFault({ known: 19, into: 19, outOf: 0 }, 10)).toBeNull();
    expect(usersFault({ known: 20, into: 20, outOf: 0 }, 100)).toBeNull();
  });
});

describe("the size of a set", () => {
  test("counts prefixes, IPv4 addresses and IPv6 sites", () => {
    expect(sizeOf(columns("192.0.2.0/24", "8.0.0.0/8", "2001:db8::/32", "2001:db8::1/128"))).toEqual({
      prefixes: 4,
      ipv4: 2 ** 24 + 256,
      ipv6: 2 ** 16 + 2 ** -80,
    });
  });

  test("may change by few prefixes, but not by many addresses", () => {
    const of = (prefixes: number, ipv4: number) => ({ prefixes, ipv4, ipv6: 0 });
    expect(changeFault(of(1, 256), of(17, 65_536), 50)).toBeNull();
    expect(changeFault(of(1, 256), of(18, 256), 50)).toStartWith("grew from 1 to 18 prefixes");
    expect(changeFault(of(1, 256), of(2, 2 ** 24), 50)).toStartWith("grew from 256 to 16777216 IPv4 addresses");
    expect(changeFault(of(2, 2 ** 24), of(1, 256), 50)).toStartWith("shrank from 16777216 to 256 IPv4 addresses");
    expect(changeFault(of(2, 2 ** 24), of(1, 256), 100)).toBeNull();
  });
});
