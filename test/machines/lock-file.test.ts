/** What is installed is what the lock file names, checked by its hash, from whatever registry a machine is set up with. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../../bun.lock";
import manifest from "../../package.json";
import judges from "../judges/bun.lock";
import { ROOT } from "../source-tree.ts";

/** A package as the lock file has it: name and version, where it comes from, what it needs, its hash. */
type Entry = readonly [name: string, source: string, needs: unknown, hash: string];

const entries = [lock, judges].flatMap(({ packages }) => Object.entries(packages)) as unknown as readonly (readonly [
  string,
  Entry,
])[];

test("every package of the lock file has a SHA-512", () => {
  expect(entries.length).toBeGreaterThan(Object.keys(manifest.dependencies).length);
  const hash = /^sha512-[A-Za-z0-9+/]{86}==$/;
  expect(entries.filter(([, entry]) => entry.length !== 4 || !hash.test(entry[3])).map(([name]) => name)).toEqual([]);
});

test("the lock file names no registry: a package comes from that of the machine", () => {
  expect(entries.filter(([, [, source]]) => source !== "").map(([name]) => name)).toEqual([]);
  expect(readFileSync(join(ROOT, "bun.lock"), "utf8")).not.toContain("://");
});

test("versions are exact, and no package may run a script when it is installed", () => {
  const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  expect(readFileSync(join(ROOT, "bunfig.toml"), "utf8")).toMatch(/^ignoreScripts = true$/m);
  expect(Object.keys(manifest)).not.toContain("trustedDependencies");
});

test("the Bun that runs is the one of the lock file", () => {
  expect(lock.packages["bun"]?.[0]).toBe(`bun@${Bun.version}`);
});
