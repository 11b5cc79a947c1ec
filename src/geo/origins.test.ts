import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { address as ip } from "../../test/fixtures/host-rows.ts";
import { ASN_FILE, COUNTRY_FILE, originFile } from "../../test/fixtures/origin-file.ts";
import { ORIGIN_FILE_BYTES_MAX } from "../limits.ts";
import { OriginFileError } from "./origin-file.ts";
import { openOrigins, originFindings } from "./origins.ts";

const directory = emptiedFolder("origins");

function written(name: string, bytes: Uint8Array): string {
  const path = join(directory, name);
  writeFileSync(path, bytes);
  return path;
}

async function opened(asn: Uint8Array | null, country: Uint8Array | null) {
  const asnFile = asn === null ? null : written("asn.mmdb", asn);
  const countryFile = country === null ? null : written("country.mmdb", country);
  const originOf = await openOrigins({ asnFile, countryFile });
  return (address: string) => originOf?.(ip(address)) ?? null;
}

describe("origins", () => {
  test("come from both files, for both families", async () => {
    const originOf = await opened(ASN_FILE(), COUNTRY_FILE());
    expect(originOf("198.51.100.1")).toEqual({ asn: 64500, asName: "Example Net", country: "DE" });
    expect(originOf("198.51.100.200")).toEqual({ asn: 64501, asName: null, country: "DE" });
    expect(originOf("2001:db8:a::1")).toEqual({ asn: 4_200_000_001, asName: "Six [31m Net", country: "NL" });
    expect(originOf("203.0.113.1")).toBeNull();
    expect(originOf("2001:db8:b::1")).toBeNull();
  });

  test("take from a record only what has the right form", async () => {
    const originOf = await opened(null, COUNTRY_FILE());
    expect(originOf("192.0.2.1")).toBeNull();
    expect(originOf("198.51.100.1")).toEqual({ asn: null, asName: null, country: "DE" });
    const odd = originFile({
      "198.51.100.0/24": { autonomous_system_number: "64500" },
      "192.0.2.0/24": { autonomous_system_number: 64502, autonomous_system_organization: "x".repeat(200) },
      "203.0.113.0/24": "a text, not a record",
    });
    const systemOf = await opened(odd, null);
    expect(systemOf("198.51.100.1")).toBeNull();
    expect(systemOf("192.0.2.1")).toEqual({ asn: 64502, asName: "x".repeat(80), country: null });
    expect(systemOf("203.0.113.1")).toBeNull();
  });

  test("of IPv6 are unknown to a file for IPv4", async () => {
    const originOf = await opened(
      originFile({ "32.1.0.0/16": { autonomous_system_number: 64500 } }, { ipVersion: 4 }),
      null,
    );
    expect(originOf("32.1.0.1")).toEqual({ asn: 64500, asName: null, country: null });
    expect(originOf("2001:db8:a::1")).toBeNull();
  });

  test("are not looked up without a file", async () => {
    expect(await openOrigins({ asnFile: null, countryFile: null })).toBeNull();
    expect(originFindings({ asnFile: null, countryFile: null })).toEqual([]);
  });

  test("are as the file was when it was opened", async () => {
    const originOf = await opened(ASN_FILE(), null);
    written("asn.mmdb", originFile({ "198.51.100.0/24": { autonomous_system_number: 64511 } }));
    expect(originOf("198.51.100.1")?.asn).toBe(64500);
    const after = await openOrigins({ asnFile: join(directory, "asn.mmdb"), countryFile: null });
    expect(after?.(ip("198.51.100.1"))?.asn).toBe(64511);
  });
});

/** The errors on opening; empty: none. */
async function refusal(files: Parameters<typeof openOrigins>[0]): Promise<string> {
  const refused = await openOrigins(files).catch((cause: unknown) => cause);
  return refused instanceof OriginFileError ? refused.message : "";
}

describe("an unusable file is reported with its path and the remedy,", () => {
  const whole = ASN_FILE();
  const cutTree = new Uint8Array([...whole.subarray(whole.length - 200)]);

  test.each([
    [
      "when it is missing",
      () => join(directory, "absent.mmdb"),
      /absent\.mmdb cannot be read \(ENOENT.*download it again/,
    ],
    ["when it is a folder", () => directory, /is not a file: download it again/],
    [
      "when it is empty",
      () => written("a.mmdb", new Uint8Array(0)),
      /a\.mmdb is not a MaxMind DB file, or is truncated/,
    ],
    [
      "when it is packed",
      () => written("a.gz", Bun.gzipSync(Uint8Array.from(whole))),
      /is not a MaxMind DB file.*unpacked/,
    ],
    [
      "when its end is missing",
      () => written("a.mmdb", whole.subarray(0, whole.length - 250)),
      /is not a MaxMind DB file/,
    ],
    [
      "when its beginning is missing",
      () => written("a.mmdb", cutTree),
      /is damaged \(its search tree is truncated\): download it/,
    ],
    [
      "when it is of another kind",
      () => written("a.mmdb", COUNTRY_FILE()),
      /of the kind "GeoLite2-Country", not one of auto/,
    ],
  ])("%s", async (_, make, message) => {
    const files = { asnFile: make(), countryFile: null };
    expect(originFindings(files)).toEqual([{ path: ["samples", "asn_file"], rule: expect.stringMatching(message) }]);
    expect(await refusal(files)).toMatch(message);
  });

  test("when it is a pipe, which would never end", async () => {
    const pipe = join(directory, "pipe");
    execFileSync("mkfifo", [pipe]);
    expect(await refusal({ asnFile: null, countryFile: pipe })).toContain("is not a file");
  });

  test("when it is larger than the bound", async () => {
    const path = written("a.mmdb", ASN_FILE());
    truncateSync(path, ORIGIN_FILE_BYTES_MAX + 1);
    expect(await refusal({ asnFile: path, countryFile: null })).toContain(`larger than ${ORIGIN_FILE_BYTES_MAX}`);
  });

  test("each of them", () => {
    expect(originFindings({ asnFile: "/nowhere/a", countryFile: "/nowhere/c" }).map(({ path }) => path)).toEqual([
      ["samples", "asn_file"],
      ["samples", "country_file"],
    ]);
  });
});

test("a file that is damaged anywhere returns less or nothing, and never throws", async () => {
  const whole = ASN_FILE();
  const seed = Math.floor(Math.random() * 2 ** 32);
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  try {
    for (let round = 0; round < 300; round++) {
      const broken = Uint8Array.from(whole);
      for (let i = 0; i < 8; i++) broken[random(broken.length)] = random(256);
      const path = written("broken.mmdb", broken);
      const originOf = await openOrigins({ asnFile: path, countryFile: null }).catch((cause: Error) => {
        expect(cause.name).toBe("OriginFileError");
        return null;
      });
      for (const address of ["198.51.100.1", "198.51.100.200", "2001:db8:a::1", "203.0.113.9"]) originOf?.(ip(address));
    }
  } catch (cause) {
    throw new Error(`with seed ${seed}`, { cause });
  }
});
