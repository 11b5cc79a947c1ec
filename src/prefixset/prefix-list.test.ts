import { describe, expect, test } from "bun:test";
import { addressFromBytes, MAPPED_BITS } from "../net/address.ts";
import type { PrefixColumns } from "../net/prefix-columns.ts";
import { parsePrefixList } from "./prefix-list.ts";

const parsed = (text: string, most = 1000) =>
  texts(parsePrefixList(new TextEncoder().encode(text), { most, shortest: { ipv4: 8, ipv6: 16 } }));

function texts({ addresses, lengths }: PrefixColumns): string[] {
  return Array.from(lengths, (length, i) => {
    const address = addressFromBytes(addresses, 16 * i);
    return `${address}/${address.includes(":") ? length : length - MAPPED_BITS}`;
  });
}

describe("a list of prefixes", () => {
  test("has an address or a prefix a line, of both families", () => {
    expect(
      parsed("192.0.2.1\n198.51.100.0/24\n2001:db8::/32\n2001:db8::7\n8.0.0.0/8\n2400::/16\n255.255.255.255/32\n"),
    ).toEqual([
      "192.0.2.1/32",
      "198.51.100.0/24",
      "2001:db8::/32",
      "2001:db8::7/128",
      "8.0.0.0/8",
      "2400::/16",
      "255.255.255.255/32",
    ]);
  });

  test("has comments, empty lines and line ends as block lists do", () => {
    const spamhaus = "; Spamhaus DROP List\n1.10.16.0/20 ; SBL256894\n2001:db8::/32 ; SBL1\n";
    expect(parsed(spamhaus)).toEqual(["1.10.16.0/20", "2001:db8::/32"]);
    const firehol = "#\n# ipset\n\n5.5.5.5\r\n\t6.6.6.0/24 # why\r\n   \n7.7.7.7#x\n8.8.8.8;x\n";
    expect(parsed(firehol)).toEqual(["5.5.5.5/32", "6.6.6.0/24", "7.7.7.7/32", "8.8.8.8/32"]);
    expect(parsed("\ufeff192.0.2.1\n")).toEqual(["192.0.2.1/32"]);
  });

  test("may have wide prefixes where no users can be, as lists of bogons have", () => {
    const bogons = ["224.0.0.0/3", "240.0.0.0/4", "8000::/1", "4000::/2", "fc00::/7"];
    expect(parsed(`${bogons.join("\n")}\n`)).toEqual(bogons);
  });

  test.each([
    ["192.0.2.77/24", '"192.0.2.77/24" has host bits: correct it, or write 192.0.2.0/24 if that is meant'],
    ["2001:db8::7/32", "has host bits: correct it, or write 2001:db8::/32"],
    ["0.0.0.0/0", "0.0.0.0/0 is wider than /8: correct it, or set shortest_prefix"],
    ["192.0.0.0/7", "192.0.0.0/7 is wider than /8"],
    ["::/0", "::/0 is wider than /16: correct it, or set shortest_prefix6"],
    ["2000::/3", "2000::/3 is wider than /16"],
  ])("%s, which more would match than is meant, makes it unusable", (line, message) => {
    expect(() => parsed(`192.0.2.1\n${line}\n192.0.2.2\n`)).toThrow(message);
    expect(() => parsed(`192.0.2.1\n${line}\n192.0.2.2\n`)).toThrow("line 2: ");
  });

  test.each([
    ["192.0.2.1\n192.0.2.128/2", "line 2: has no line end"],
    ["192.0.2.1", "line 1: has no line end"],
    ["192.0.2.1\n# the e", "line 2: has no line end"],
  ])("that ends without a line end may be cut off: %j", (text, message) => {
    expect(() => parsed(text)).toThrow(message);
  });

  test("without a prefix it is empty", () => {
    expect(parsed("")).toEqual([]);
    expect(parsed("# nothing\n;\n")).toEqual([]);
  });

  test.each([
    ["<html>", 'line 2: "<html>" is neither an address nor a prefix'],
    ["1.2.3.4/33", 'line 2: "1.2.3.4/33"'],
    ["1.2.3.4/", "line 2"],
    ["1.2.3", "line 2"],
    ["1.2.3.4.5", "line 2"],
    ["1.2.3.256", "line 2"],
    ["01.2.3.4", "line 2"],
    ["1.2.3.4/08", "line 2"],
    ["1.2.3.4 5", "line 2"],
    ["1.2.3.4\t1.2.3.255", "line 2"],
    ["1.2.3.0-1.2.3.255", "line 2"],
    ["2001:db8::/129", "line 2"],
    ["::ffff:1.2.3.4", "line 2"],
    ["a".repeat(500), `line 2: "${"a".repeat(40)}…"`],
  ])("%s makes it unusable, and the line is named", (line, message) => {
    expect(() => parsed(`192.0.2.1\n${line}\n192.0.2.2\n`)).toThrow(message);
  });

  test("has a bounded number of prefixes", () => {
    expect(parsed("1.1.1.1\n2.2.2.2\n", 2)).toHaveLength(2);
    expect(() => parsed("1.1.1.1\n2.2.2.2\n3.3.3.3\n", 2)).toThrow("line 3: more than 2 prefixes");
  });
});
