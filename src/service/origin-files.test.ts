import { beforeEach, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { ASN_FILE, COUNTRY_FILE } from "../../test/fixtures/origin-file.ts";
import type { FileFault } from "../system/file-fault.ts";
import { OriginWatch } from "./origin-files.ts";

const SOURCE = address("198.51.100.1");
const WHOLE = { asn: 64500, asName: "Example Net", country: "DE" };
const FILES = { asnFile: ["asn.mmdb", ASN_FILE], countryFile: ["country.mmdb", COUNTRY_FILE] } as const;
const KEYS = { asnFile: "samples.asn_file", countryFile: "samples.country_file" } as const;
type Key = keyof typeof FILES;

const DAMAGES: readonly (readonly [string, (path: string) => void])[] = [
  ["gone", (path) => rmSync(path)],
  ["empty", (path) => writeFileSync(path, "")],
  ["cut", (path) => writeFileSync(path, ASN_FILE().subarray(0, 300))],
  ["of another kind", (path) => writeFileSync(path, "<html>502 Bad Gateway</html>\n")],
];
const CASES = DAMAGES.flatMap(([what, damage]) =>
  (["asnFile", "countryFile"] as const).map((key) => [KEYS[key], what, key, damage] as const),
);

const directory = emptiedFolder("origins");
let clock: ManualClock;
let faults: readonly FileFault[];
let files: Readonly<Record<Key, string>>;

beforeEach(() => {
  [clock, faults] = [new ManualClock(), []];
  files = { asnFile: join(directory, FILES.asnFile[0]), countryFile: join(directory, FILES.countryFile[0]) };
  for (const key of ["asnFile", "countryFile"] as const) restore(key);
});

function restore(key: Key): void {
  writeFileSync(files[key], FILES[key][1]());
}

const replace = (_: string, found: readonly FileFault[]) => {
  faults = found;
};
const opened = () => OriginWatch.open(files, { timers: new ManualTimers(clock), faults: { replace } });
const originOf = (watch: OriginWatch) => watch.originOf?.(SOURCE) ?? null;

describe.each(CASES)("%s that is %s", (name, _, key, damage) => {
  test("at a start is named, and what the other file has is there; it is used once it is good", async () => {
    damage(files[key]);
    const watch = await opened();
    expect(faults).toMatchObject([{ key: name, error: expect.stringContaining(files[key]) }]);
    expect(originOf(watch)).toEqual(
      key === "asnFile" ? { asn: null, asName: null, country: "DE" } : { ...WHOLE, country: null },
    );
    restore(key);
    await watch.retry();
    expect([originOf(watch), faults]).toEqual([WHOLE, []]);
  });

  test("at a reload is named, and what it had before stays", async () => {
    const watch = await opened();
    damage(files[key]);
    await watch.prepare(files);
    expect(faults).toEqual([]);
    watch.apply();
    expect(faults).toMatchObject([{ key: name }]);
    expect(originOf(watch)).toEqual(WHOLE);
    // Also at the next one.
    await watch.prepare(files);
    watch.apply();
    expect([originOf(watch), faults.length]).toEqual([WHOLE, 1]);
  });
});
