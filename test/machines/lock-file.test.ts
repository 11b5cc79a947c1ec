/** What is installed is what the lock file names, checked by its hash, from whatever registry a machine is set up with. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../../bun.lock";
import manifest from "../../package.json";
import judges from "../judges/bun.lock";
import { ROOT } from "../source-tree.ts";

test("every package of the lock file has a SHA-512, and no registry: it comes from that of the machine", () => {
  const entries = [lock, judges].flatMap(({ packages }) => Object.entries(packages));
  expect(entries.length).toBeGreaterThan(Object.keys(manifest.dependencies).length);
  // Name and version, where it comes from, what it needs, its hash.
  const isSound = ([, source, , hash = "", ...more]: readonly unknown[]) =>
    source === "" && /^sha512-[A-Za-z0-9+/]{86}==$/.test(String(hash)) && more.length === 0;
  expect(entries.filter(([, entry]) => !isSound(entry)).map(([name]) => name)).toEqual([]);
  expect(readFileSync(join(ROOT, "bun.lock"), "utf8")).not.toContain("://");
});

test("versions are exact, and no package may run a script when it is installed", () => {
  const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  expect(readFileSync(join(ROOT, "bunfig.toml"), "utf8")).toMatch(/^ignoreScripts = true$/m);
  expect(Object.keys(manifest)).not.toContain("trustedDependencies");
  expect(lock.packages["bun"]?.[0]).toBe(`bun@${Bun.version}`);
});
