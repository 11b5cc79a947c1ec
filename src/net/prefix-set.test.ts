import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { addressFromBytes, type IpAddress, parseAddress } from "./address.ts";
import { type Prefix, parsePrefix, prefixContains } from "./prefix.ts";
import { PrefixSet } from "./prefix-set.ts";

function ip(text: string): IpAddress {
  const parsed = parseAddress(text);
  if (parsed === null) throw new Error(`not an address: ${text}`);
  return parsed;
}

function prefix(text: string): Prefix {
  const parsed = parsePrefix(text);
  if (parsed === null) throw new Error(`not a prefix: ${text}`);
  return parsed;
}

describe("match", () => {
  const set = new PrefixSet(
    ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "2001:db8::/32", "2001:db8:1::/48", "2001:db8::1/128"].map(prefix),
  );

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
    expect(set.match(ip(address))?.text).toBe(expected);
  });

  test("an empty set holds nothing", () => {
    expect(new PrefixSet([]).match(ip("192.0.2.1"))).toBeNull();
  });

  test("a default route holds its own family only", () => {
    expect(new PrefixSet([prefix("::/0")]).match(ip("192.0.2.1"))).toBeNull();
    expect(new PrefixSet([prefix("::/0")]).match(ip("2001:db8::1"))?.text).toBe("::/0");
    expect(new PrefixSet([prefix("0.0.0.0/0")]).match(ip("2001:db8::1"))).toBeNull();
    expect(new PrefixSet([prefix("0.0.0.0/0")]).match(ip("192.0.2.1"))?.text).toBe("0.0.0.0/0");
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
    const set = new PrefixSet(prefixes);
    for (let round = 0; round < 2000; round++) {
      const target = address();
      const holders = prefixes.filter((candidate) => prefixContains(candidate, target));
      const longest = holders.sort((a, b) => b.length - a.length)[0] ?? null;
      expect(set.match(target)?.text, `seed ${seed}: ${target}`).toBe(longest?.text);
    }
  });
});
