import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { ASN_FILE, COUNTRY_FILE, originFile } from "../../test/fixtures/origin-file.ts";
import { prefixSet } from "../../test/fixtures/prefix-set.ts";
import { addressFromBytes, MAPPED_BITS } from "../net/address.ts";
import type { PrefixSetSource } from "./prefix-set-config.ts";
import { PREFIX_LIST_BYTES_MAX, readPrefixSet, stampOf } from "./set-content.ts";
import { prefixSetFindings } from "./set-findings.ts";

const directory = emptiedFolder("sets");

function written(name: string, content: string | Uint8Array): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

function prefixesOf(source: PrefixSetSource): string[] {
  const { addresses, lengths } = readPrefixSet(prefixSet("s", source)).columns;
  return Array.from(lengths, (length, i) => {
    const address = addressFromBytes(addresses, 16 * i);
    return `${address}/${address.includes(":") ? length : length - MAPPED_BITS}`;
  });
}

const list = (path: string) => ({ kind: "list", path }) as const;
const origins = (path: string, countries: string[], autonomousSystems: number[] = []) =>
  ({ kind: "mmdb", path, countries, autonomousSystems }) as const;

describe("a file in MaxMind's format", () => {
  test("gives the prefixes of countries, of both families", () => {
    const path = written("c.mmdb", COUNTRY_FILE());
    expect(prefixesOf(origins(path, ["DE"]))).toEqual(["198.51.100.0/24"]);
    expect(prefixesOf(origins(path, ["NL", "DE", "FR"]))).toEqual(["198.51.100.0/24", "2001:db8:a::/48"]);
  });

  test("gives the prefixes of autonomous systems", () => {
    const path = written("a.mmdb", ASN_FILE());
    expect(prefixesOf(origins(path, [], [64_501, 4_200_000_001]))).toEqual(["198.51.100.128/25", "2001:db8:a::/48"]);
  });

  test("for IPv4 alone gives IPv4", () => {
    const path = written("4.mmdb", originFile({ "32.1.0.0/16": { autonomous_system_number: 7 } }, { ipVersion: 4 }));
    expect(prefixesOf(origins(path, [], [7]))).toEqual(["32.1.0.0/16"]);
  });

  test("with many prefixes gives each of them", () => {
    const prefixes = Array.from({ length: 2000 }, (_, i) => `10.${i >> 8}.${i & 255}.${i % 2 === 0 ? "0/24" : "0/25"}`);
    const file = originFile(
      Object.fromEntries(prefixes.map((text, i) => [text, { country: { iso_code: i % 3 ? "DE" : "FR" } }])),
    );
    const path = written("m.mmdb", file);
    expect(prefixesOf(origins(path, ["DE"]))).toEqual(prefixes.filter((_, i) => i % 3));
    expect(prefixesOf(origins(path, ["DE", "FR"]))).toEqual(prefixes);
  });

  test("that is damaged anywhere gives an error or less, and ends", () => {
    const whole = COUNTRY_FILE();
    for (let at = 0; at < whole.length; at++) {
      const broken = Uint8Array.from(whole);
      broken[at] = (broken[at] ?? 0) ^ 0xff;
      const path = written("b.mmdb", broken);
      try {
        prefixesOf(origins(path, ["DE"]));
      } catch (cause) {
        expect((cause as Error).name).toBe("PrefixSetError");
      }
    }
  });

  test("with a prefix that is too wide is unusable, as a damaged one may have", () => {
    const path = written("w.mmdb", originFile({ "64.0.0.0/2": { country: { iso_code: "DE" } } }));
    expect(() => prefixesOf(origins(path, ["DE"]))).toThrow("w.mmdb: 64.0.0.0/2 is wider than /6");
  });

  test("whose tree leads back to its root is damaged", () => {
    const file = originFile({ "128.0.0.0/1": { country: { iso_code: "DE" } } }, { ipVersion: 4 });
    // The left record of the one node.
    file.set([0, 0, 0]);
    expect(() => prefixesOf(origins(written("l.mmdb", file), ["DE"]))).toThrow("its search tree has a loop");
  });
});

describe("an unusable source is refused with its path and the remedy:", () => {
  test.each([
    ["no file", () => list(join(directory, "absent")), /absent cannot be read \(ENOENT.*restore it/],
    ["a folder", () => list(directory), /is not a file/],
    ["an empty list", () => list(written("e", "# nothing\n")), /e has no prefix: .* failed download/],
    ["a page", () => list(written("h", "<!doctype html>\n")), /h: line 1: .*neither an address nor a prefix/],
    ["no mmdb", () => origins(written("x", "text"), ["DE"]), /x is not a MaxMind DB file/],
    ["no such country", () => origins(written("c", COUNTRY_FILE()), ["SE"]), /c has no prefix of these countries/],
    ["the wrong kind", () => origins(written("a", ASN_FILE()), ["DE"]), /take a file of their kind/],
  ])("%s", (_, source, message) => {
    expect(() => prefixesOf(source())).toThrow(message);
    const findings = prefixSetFindings([prefixSet("fine", list(written("ok", "1.1.1.1\n"))), prefixSet("s", source())]);
    const key = source().kind === "mmdb" ? "mmdb" : "file";
    expect(findings).toEqual([{ path: ["prefix_sets", 1, key], rule: expect.stringMatching(message) }]);
  });

  test("a pipe, which would never end", () => {
    const path = join(directory, "pipe");
    execFileSync("mkfifo", [path]);
    expect(() => prefixesOf(list(path))).toThrow("is not a file");
  });

  test("more prefixes in all sets together than the bound", () => {
    const sets = ["a", "b"].map((name) => prefixSet(name, list(written(name, "1.1.1.1\n"))));
    expect(prefixSetFindings(sets, 2)).toEqual([]);
    const rule = "2 prefixes in all are more than 1: take smaller lists";
    expect(prefixSetFindings(sets, 1)).toEqual([{ path: ["prefix_sets"], rule }]);
  });

  test("more bytes than the bound", () => {
    const path = written("big", "1.1.1.1\n");
    truncateSync(path, PREFIX_LIST_BYTES_MAX + 1);
    expect(() => prefixesOf(list(path))).toThrow(`larger than ${PREFIX_LIST_BYTES_MAX} bytes`);
  });
});

test("a file that was replaced or written has another stamp, and one that is the same has the same", async () => {
  const path = written("a", "1.1.1.1\n");
  const before = await stampOf(path);
  expect(await stampOf(path)).toBe(before);
  expect(readPrefixSet(prefixSet("a", list(path))).file?.stamp).toBe(before);
  renameSync(written("b", "1.1.1.1\n"), path);
  expect(await stampOf(path)).not.toBe(before);
  rmSync(path);
  expect(await stampOf(path)).toBe("");
});

test("bogons are built in: not what is routed, nor what neighbors on a link need", () => {
  const prefixes = prefixesOf({ kind: "builtin", set: "bogons" });
  expect(prefixes).toContain("10.0.0.0/8");
  expect(prefixes).toContain("224.0.0.0/3");
  expect(prefixes).toContain("2001:db8::/32");
  expect(prefixes).toContain("fc00::/7");
  expect(prefixes).toContain("ff00::/8");
  expect(prefixes.filter((text) => /^(2000::|fe80::|::\/128|64:ff9b::\/96)/.test(text))).toEqual([]);
  expect(new Set(prefixes).size).toBe(prefixes.length);
});
