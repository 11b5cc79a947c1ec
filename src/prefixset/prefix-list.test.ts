import { describe, expect, test } from "bun:test";
import { addressFromBytes, MAPPED_BITS } from "../net/address.ts";
import type { PrefixColumns } from "../net/prefix-columns.ts";
import { parsePrefixList } from "./prefix-list.ts";

const parsed = (text: string, most = 1000) => texts(parsePrefixList(new TextEncoder().encode(text), most));

function texts({ addresses, lengths }: PrefixColumns): string[] {
  return Array.from(lengths, (length, i) => {
    const address = addressFromBytes(addresses, 16 * i);
    return `${address}/${address.includes(":") ? length : length - MAPPED_BITS}`;
  });
}

describe("a list of prefixes", () => {
  test("has an address or a prefix a line, of both families", () => {
    expect(
      parsed("192.0.2.1\n198.51.100.0/24\n2001:db8::/32\n2001:db8::7\n0.0.0.0/0\n::/0\n255.255.255.255/32"),
    ).toEqual([
      "192.0.2.1/32",
      "198.51.100.0/24",
      "2001:db8::/32",
      "2001:db8::7/128",
      "0.0.0.0/0",
      "::/0",
      "255.255.255.255/32",
    ]);
  });

  test("has comments, empty lines and line ends as block lists do", () => {
    const spamhaus = "; Spamhaus DROP List\n1.10.16.0/20 ; SBL256894\n2001:db8::/32 ; SBL1\n";
    expect(parsed(spamhaus)).toEqual(["1.10.16.0/20", "2001:db8::/32"]);
    const firehol = "#\n# ipset\n\n5.5.5.5\r\n\t6.6.6.0/24 # why\r\n   \n7.7.7.7#x\n8.8.8.8;x";
    expect(parsed(firehol)).toEqual(["5.5.5.5/32", "6.6.6.0/24", "7.7.7.7/32", "8.8.8.8/32"]);
    expect(parsed("\ufeff192.0.2.1\n")).toEqual(["192.0.2.1/32"]);
  });

  test("host bits are cleared", () => {
    expect(parsed("192.0.2.77/24\n2001:db8::7/32\n200.1.1.1/1")).toEqual([
      "192.0.2.0/24",
      "2001:db8::/32",
      "128.0.0.0/1",
    ]);
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

  test("has at most so many prefixes", () => {
    expect(parsed("1.1.1.1\n2.2.2.2\n", 2)).toHaveLength(2);
    expect(() => parsed("1.1.1.1\n2.2.2.2\n3.3.3.3", 2)).toThrow("line 3: more than 2 prefixes");
  });
});
