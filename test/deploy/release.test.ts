/** A release as it is downloaded: it repeats, its signatures hold, and Debian's apt takes its repository and no other. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeRelease } from "../../deploy/release.ts";
import { releaseNotes } from "../../deploy/release-notes.ts";
import { makeReleaseKey, RELEASE_KEY, serveFolder } from "../fixtures/package-repository.ts";
import { runCommand } from "../fixtures/run-command.ts";
import { Undo } from "../fixtures/undo.ts";

const undo = new Undo();
const folder = undo.folder("release");
const home = join(folder, "gnupg");
const directory = join(folder, "release");
let made: readonly string[];

const run = (...command: string[]) => runCommand(command, { cwd: directory });

beforeAll(async () => {
  makeReleaseKey(home);
  made = await makeRelease({ directory, key: RELEASE_KEY, home, isQuick: true });
}, 240_000);
afterAll(() => undo.all());

test("has a package, a repository of it, checksums, a bill of materials and notes", () => {
  const names = made.map((path) =>
    path.replaceAll(/_[^/]*_amd64|_[^/]*_arm64/g, "").replaceAll(/binary-\w+/g, "binary"),
  );
  expect(names).toEqual([
    "SHA256SUMS",
    "SHA256SUMS.asc",
    "apt/dists/stable/InRelease",
    "apt/dists/stable/Release",
    "apt/dists/stable/Release.gpg",
    "apt/dists/stable/main/binary/Packages",
    "apt/dists/stable/main/binary/Packages.gz",
    "apt/floodwall.asc",
    "apt/pool/main/f/floodwall/floodwall.deb",
    "floodwall.deb",
    "release-notes.md",
    "sbom.cdx.json",
  ]);
});

test("is signed as a whole, by the key that it has beside it", () => {
  const keyring = join(folder, "keyring.gpg");
  run("gpg", "--homedir", home, "--batch", "--yes", "--output", keyring, "--dearmor", "apt/floodwall.asc");
  const verify = (...files: string[]) => run("gpgv", "--keyring", keyring, ...files);
  verify("SHA256SUMS.asc", "SHA256SUMS");
  verify("apt/dists/stable/InRelease");
  verify("apt/dists/stable/Release.gpg", "apt/dists/stable/Release");
  expect(run("sha256sum", "--check", "--strict", "SHA256SUMS")).not.toContain("FAILED");
  const listed = readFileSync(join(directory, "SHA256SUMS"), "utf8").trimEnd().split("\n");
  expect(listed.map((line) => line.slice(66))).toEqual(made.filter((path) => !path.startsWith("SHA256SUMS")));
});

test("of the same commit, tools and key is the same to the byte", async () => {
  const again = join(folder, "again");
  expect(await makeRelease({ directory: again, key: RELEASE_KEY, home, isQuick: true })).toEqual(made);
  for (const path of made) {
    expect(Bun.SHA256.hash(readFileSync(join(again, path)), "hex"), path).toBe(
      Bun.SHA256.hash(readFileSync(join(directory, path)), "hex"),
    );
  }
}, 240_000);

test("names each npm package that is inside, with its archive's hash and license", () => {
  const bill = JSON.parse(readFileSync(join(directory, "sbom.cdx.json"), "utf8")) as {
    bomFormat: string;
    components: { name: string; version: string; purl: string; hashes?: { content: string }[]; licenses?: object[] }[];
  };
  expect(bill.bomFormat).toBe("CycloneDX");
  const files = join(folder, "files");
  run("dpkg-deb", "-x", made.find((path) => /^floodwall_.*\.deb$/.test(path)) ?? "", files);
  const text = readFileSync(join(files, "usr/share/doc/floodwall/third-party.txt"), "utf8");
  const inside = [...text.matchAll(/^==== (\S+) (\S+):/gm)].map(([, name, version]) => `${name} ${version}`);
  const [bun, ...libraries] = bill.components;
  expect(bun?.name).toBe("bun");
  expect(libraries.map(({ name, version }) => `${name} ${version}`)).toEqual(inside);
  expect(inside.length).toBeGreaterThan(20);
  const incomplete = bill.components.filter(
    ({ hashes, licenses }) => hashes?.[0]?.content.length !== 128 || licenses?.length !== 1,
  );
  expect(incomplete.map(({ name }) => name)).toEqual([]);
});

describe("apt", () => {
  /** A folder of state of its own, in place of the machine's. @returns what apt says */
  async function aptIn(name: string, base: string, ...command: string[]): Promise<string> {
    const state = join(folder, name);
    for (const part of ["lists/partial", "cache/archives/partial", "etc"])
      mkdirSync(join(state, part), { recursive: true });
    writeFileSync(join(state, "dpkg"), "");
    writeFileSync(join(state, "sources.list"), `deb [signed-by=${directory}/apt/floodwall.asc] ${base} stable main\n`);
    const settings = {
      "Dir::Etc::sourcelist": join(state, "sources.list"),
      "Dir::Etc::sourceparts": join(state, "etc"),
      "Dir::State::lists": join(state, "lists"),
      "Dir::State::status": join(state, "dpkg"),
      "Dir::Cache": join(state, "cache"),
      "APT::Sandbox::User": "root",
      "APT::Update::Error-Mode": "any",
    };
    const options = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
    // The server is in this process, so the command must not block it.
    const child = Bun.spawn(["apt-get", ...options, ...command], { cwd: state, stdout: "pipe", stderr: "pipe" });
    const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    if ((await child.exited) !== 0) throw new Error(output + errors);
    return output;
  }

  test("takes the repository from any web server, and gets the package that was built", async () => {
    await using server = serveFolder(join(directory, "apt"));
    await aptIn("good", server.base, "update");
    await aptIn("good", server.base, "download", "floodwall");
    const name = made.find((path) => /^floodwall_.*\.deb$/.test(path)) ?? "";
    const got = readFileSync(join(folder, "good", name));
    expect(Bun.SHA256.hash(got, "hex")).toBe(Bun.SHA256.hash(readFileSync(join(directory, name)), "hex"));
  });

  test("refuses an index or a package that is not the one that was signed", async () => {
    const changed = join(folder, "changed");
    cpSync(join(directory, "apt"), changed, { recursive: true });
    await using server = serveFolder(changed);
    const deb = made.find((path) => path.startsWith("apt/pool/"))?.slice(4) ?? "";
    chmodSync(join(changed, deb), 0o644);
    appendFileSync(join(changed, deb), "x");
    await aptIn("package", server.base, "update");
    expect(await aptIn("package", server.base, "download", "floodwall").catch(String)).toMatch(
      /Hash Sum|size|unexpected/i,
    );
    for (const name of ["Packages", "Packages.gz"]) {
      const path = made.find((file) => file.endsWith(`/${name}`))?.slice(4) ?? "";
      appendFileSync(join(changed, path), "x");
    }
    expect(await aptIn("index", server.base, "update").catch(String)).toMatch(/Hash Sum|unexpected/i);
    writeFileSync(
      join(changed, "dists/stable/InRelease"),
      readFileSync(join(changed, "dists/stable/InRelease"), "utf8").replace("Origin: Floodwall", "Origin: Another"),
    );
    expect(await aptIn("signature", server.base, "update").catch(String)).toMatch(/signature|BADSIG|signed/i);
  });
});

describe("the notes of a release", () => {
  const changelog =
    "# Changelog\n\n## Unreleased (0.2.0)\n\nNew.\n\n### More\n\n- a\n\n## 0.1.0 - 2026-01-01\n\nFirst.\n";

  test("are its part of the changelog", () => {
    expect(releaseNotes(changelog, "0.2.0")).toBe("# Floodwall 0.2.0\n\nNew.\n\n### More\n\n- a\n");
    expect(releaseNotes(changelog, "0.1.0")).toBe("# Floodwall 0.1.0\n\nFirst.\n");
  });

  test("of a version that the changelog does not have are an error", () => {
    expect(() => releaseNotes(changelog, "0.1")).toThrow("no section of 0.1");
  });
});
