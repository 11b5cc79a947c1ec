import { describe, expect, test } from "bun:test";
import { address as ip } from "../../test/fixtures/host-rows.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { addressFromBytes, type IpAddress } from "./address.ts";
import { type Prefix, parsePrefix, parsePrefixLoosely, prefixContains } from "./prefix.ts";
import { PrefixTable } from "./prefix-table.ts";

/** Text of the longest prefix. */
function found(prefixes: readonly string[], address: string): string | undefined {
  return prefixes[PrefixTable.of(prefixes.map(prefix)).find(ip(address))];
}

describe("the longest match", () => {
  const prefixes = ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "2001:db8::/32", "2001:db8:1::/48", "2001:db8::1/128"];

  test.each([
    ["10.200.0.1", "10.0.0.0/8"],
    ["10.1.9.9", "10.1.0.0/16"],
    ["10.1.2.3", "10.1.2.3/32"],
    ["10.1.2.4", "10.1.0.0/16"],
    ["11.0.0.0", undefined],
    ["9.255.255.255", undefined],
    ["2001:db8:2::1", "2001:db8::/32"],
    ["2001:db8:1:ffff::", "2001:db8:1::/48"],
    ["2001:db8::1", "2001:db8::1/128"],
    ["2001:db9::", undefined],
  ])("%s lies in %p", (address, expected) => {
    expect(found(prefixes, address)).toBe(expected);
  });

  test("an empty table holds nothing", () => {
    expect(PrefixTable.of([]).find(ip("192.0.2.1"))).toBe(-1);
  });

  test("of equal prefixes the last one is found", () => {
    expect(PrefixTable.of(["10.0.0.0/8", "10.0.0.0/8"].map(prefix)).find(ip("10.0.0.1"))).toBe(1);
  });

  test("a table goes to another thread and finds there what it found here", () => {
    const { packed } = PrefixTable.of(prefixes.map(prefix));
    const moved = new PrefixTable(structuredClone(packed, { transfer: [packed.addresses.buffer] }));
    expect(prefixes[moved.find(ip("10.1.9.9"))]).toBe("10.1.0.0/16");
  });

  test("a default route holds its own family only", () => {
    expect(found(["::/0"], "192.0.2.1")).toBeUndefined();
    expect(found(["::/0"], "2001:db8::1")).toBe("::/0");
    expect(found(["0.0.0.0/0"], "2001:db8::1")).toBeUndefined();
    expect(found(["0.0.0.0/0"], "192.0.2.1")).toBe("0.0.0.0/0");
  });

  test("agrees with a search through all prefixes", () => {
    const seed = 41;
    const random = seededRandom(seed);
    // Few distinct bits, so that prefixes nest and addresses hit.
    const address = (): IpAddress => {
      const bytes = new Uint8Array(16).map(() => (random() < 0.5 ? 0 : 128));
      if (random() < 0.5) bytes.set([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]);
      return addressFromBytes(bytes);
    };
    const prefixes: Prefix[] = [];
    while (prefixes.length < 300) {
      const parsed = parsePrefix(`${address()}/${Math.floor(random() * 40)}`);
      if (parsed !== null) prefixes.push(parsed);
    }
    const table = PrefixTable.of(prefixes);
    for (let round = 0; round < 2000; round++) {
      const target = address();
      const holders = prefixes.filter((candidate) => prefixContains(candidate, target));
      const longest = holders.sort((a, b) => b.length - a.length)[0] ?? null;
      expect(prefixes[table.find(target)]?.text, `seed ${seed}: ${target}`).toBe(longest?.text);
    }
  });
});

describe("an overlap", () => {
  const table = PrefixTable.of(["10.1.0.0/16", "10.2.3.4/32", "2001:db8:1::/48", "2001:db8:2::1/128"].map(prefix));

  test.each([
    ["10.1.2.0/24", true],
    ["10.1.0.0/16", true],
    ["10.0.0.0/8", true],
    ["10.2.3.0/24", true],
    ["10.2.3.4/31", true],
    ["10.2.3.6/31", false],
    ["10.2.4.0/24", false],
    ["2001:db8:1:2::/64", true],
    ["2001:db8:2::/48", true],
    ["2001:db8::/32", true],
    ["2001:db8:3::/48", false],
  ])("with %s: %p", (text, expected) => {
    expect(table.overlaps(prefix(text))).toBe(expected);
  });

  test("is found as by comparing one by one", () => {
    const random = seededRandom(7);
    const drawn = () => {
      const bytes = Array.from({ length: 4 }, () => Math.floor(random() * 256));
      return parsePrefixLoosely(`${bytes.join(".")}/${8 + Math.floor(random() * 25)}`) as Prefix;
    };
    const prefixes = Array.from({ length: 200 }, drawn);
    const many = PrefixTable.of(prefixes);
    const overlap = (a: Prefix, b: Prefix) => prefixContains(a, b.address) || prefixContains(b, a.address);
    for (let i = 0; i < 500; i++) {
      const one = drawn();
      expect([one.text, many.overlaps(one)]).toEqual([one.text, prefixes.some((other) => overlap(one, other))]);
      const around = prefixes.filter(({ length }) => length <= one.length).filter((other) => overlap(one, other));
      const longest = around.toSorted((a, b) => b.length - a.length)[0];
      expect([one.text, prefixes[many.findAround(one)]?.text]).toEqual([one.text, longest?.text]);
    }
  });
});
