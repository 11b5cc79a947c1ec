/** A release as it is downloaded: it repeats, its signatures hold, and Debian's apt takes its repository and no other. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, chmodSync, cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ARCHITECTURES, type Architecture } from "../../deploy/architecture.ts";
import type { ArchitectureBuild } from "../../deploy/architecture-build.ts";
import { publish } from "../../deploy/publication.ts";
import { releaseNotes } from "../../deploy/release-notes.ts";
import { newerSymbols } from "../../deploy/rpm.ts";
import { signer } from "../../deploy/signing.ts";
import { makeReleaseKey, RELEASE_KEY, serveFolder } from "../fixtures/package-repository.ts";
import { runCommand } from "../fixtures/run-command.ts";
import { NPM_PACKAGES, smallBuild } from "../fixtures/small-build.ts";
import { Undo } from "../fixtures/undo.ts";

const undo = new Undo();
const folder = undo.folder("release");
const home = join(folder, "gnupg");
const directory = join(folder, "release");
const release = { version: "1.2.3~20260102T030405.gabc", time: 1_790_000_000 };
let made: readonly string[];

const run = (...command: string[]) => runCommand(command, { cwd: directory });

/** Builds the release and publishes it: with small files in place of the executables, and this machine's packet counter. */
async function publishTo(to: string): Promise<readonly string[]> {
  const work = undo.folder("release-work");
  const builds: ArchitectureBuild[] = [];
  for (const one of ARCHITECTURES) builds.push(await smallBuild(one, { release, directory: join(work, one.name) }));
  return publish({ directory: to, builds, release, signer: signer({ key: RELEASE_KEY, time: release.time, home }) });
}

beforeAll(async () => {
  makeReleaseKey(home);
  made = await publishTo(directory);
}, 60_000);
afterAll(() => undo.all());

test("the key is tried before the build: one that is not there or is younger than the commit is named with the remedy", async () => {
  const refusal = (key: string, time: number) =>
    signer({ key, time, home })
      .check()
      .then(
        () => null,
        ({ message }: Error) => message,
      );
  expect(await refusal(RELEASE_KEY, release.time)).toBeNull();
  const remedy = "a release is signed at the time of its commit, with a key that was made before it";
  expect(await refusal("absent@example.net", release.time)).toContain(remedy);
  const younger = await refusal(RELEASE_KEY, Date.UTC(2019, 0, 1) / 1000);
  expect(younger).toStartWith(`the key ${RELEASE_KEY} cannot sign at 20190101T000000: `);
});

test("has packages and an image for both processors, repositories, checksums, bills of materials and notes", () => {
  const names = made.map((path) => path.replaceAll(release.version, "V").replace(/[0-9a-f]{64}/, "HASH"));
  expect(names.toSorted()).toEqual([
    "SHA256SUMS",
    "SHA256SUMS.asc",
    "apt/dists/stable/InRelease",
    "apt/dists/stable/Release",
    "apt/dists/stable/Release.gpg",
    ...["amd64", "arm64"].flatMap((name) =>
      ["Packages", "Packages.gz"].map((file) => `apt/dists/stable/main/binary-${name}/${file}`),
    ),
    "apt/floodwall.asc",
    "apt/pool/main/f/floodwall/floodwall_V_amd64.deb",
    "apt/pool/main/f/floodwall/floodwall_V_arm64.deb",
    "floodwall-V-1.aarch64.rpm",
    "floodwall-V-1.x86_64.rpm",
    "floodwall-V.oci.tar",
    "floodwall_V_amd64.deb",
    "floodwall_V_arm64.deb",
    "release-notes.md",
    "sbom-image.cdx.json",
    "sbom.cdx.json",
    "yum/floodwall.asc",
    "yum/packages/floodwall-V-1.aarch64.rpm",
    "yum/packages/floodwall-V-1.x86_64.rpm",
    ...["filelists", "other", "primary"].map((name) => `yum/repodata/HASH-${name}.xml.gz`),
    "yum/repodata/repomd.xml",
    "yum/repodata/repomd.xml.asc",
  ]);
});

test("is signed as a whole, by the key that it has beside it", () => {
  const keyring = join(folder, "keyring.gpg");
  run("gpg", "--homedir", home, "--batch", "--yes", "--output", keyring, "--dearmor", "apt/floodwall.asc");
  const verify = (...files: string[]) => run("gpgv", "--keyring", keyring, ...files);
  verify("SHA256SUMS.asc", "SHA256SUMS");
  verify("apt/dists/stable/InRelease");
  verify("apt/dists/stable/Release.gpg", "apt/dists/stable/Release");
  verify("yum/repodata/repomd.xml.asc", "yum/repodata/repomd.xml");
  expect(run("sha256sum", "--check", "--strict", "SHA256SUMS")).not.toContain("FAILED");
  const listed = readFileSync(join(directory, "SHA256SUMS"), "utf8").trimEnd().split("\n");
  expect(listed.map((line) => line.slice(66))).toEqual(made.filter((path) => !path.startsWith("SHA256SUMS")));
});

test("of the same files, time and key is the same to the byte", async () => {
  const again = join(folder, "again");
  expect(await publishTo(again)).toEqual(made);
  for (const path of made) {
    expect(Bun.SHA256.hash(readFileSync(join(again, path)), "hex"), path).toBe(
      Bun.SHA256.hash(readFileSync(join(directory, path)), "hex"),
    );
  }
}, 60_000);

describe("an RPM package", () => {
  const rpm = () => join(directory, `floodwall-${release.version}-1.x86_64.rpm`);
  const checked = (path: string) => {
    const database = ["--dbpath", join(folder, "rpm-database")];
    run("rpmkeys", ...database, "--import", "yum/floodwall.asc");
    return run("rpmkeys", ...database, "--checksig", path);
  };

  test("bears a signature, which fails when a byte is another", () => {
    expect(checked(rpm())).toEndWith("digests signatures OK\n");
    const changed = join(folder, "changed.rpm");
    const bytes = readFileSync(rpm());
    bytes[bytes.length - 10] = (bytes.at(-10) ?? 0) ^ 1;
    writeFileSync(changed, bytes);
    expect(() => checked(changed)).toThrow("exit code 1");
  });

  test("asks for libraries by their names on its distributions, and has files where these have them", () => {
    const needs = run("rpm", "-qp", "--requires", rpm());
    for (const name of ["libpcap.so.1", "libxdp.so.1", "libbpf.so.1"]) expect(needs).toContain(`${name}()(64bit)\n`);
    expect(needs).toContain("libc.so.6(GLIBC_2.34)(64bit)\n");
    expect(needs).not.toContain("libpcap.so.0.8");
    expect(run("rpm", "-qpl", rpm()).split("\n")).toEqual(
      expect.arrayContaining([
        "/etc/floodwall",
        "/etc/floodwall/floodwall.yaml",
        "/usr/lib/systemd/system/floodwall.service",
      ]),
    );
    expect(run("rpm", "-qpc", rpm())).toBe("/etc/floodwall/floodwall.yaml\n");
  });

  test("is for distributions that have the symbols of Red Hat Enterprise Linux 9, and not those of newer ones", () => {
    const needs = (...symbols: string[]) => symbols.map((symbol) => `library.so.6(${symbol})(64bit)`);
    const old = [
      "libxdp.so.1()(64bit)",
      ...needs("GLIBC_2.4", "GLIBC_2.34", "GLIBCXX_3.4.29", "CXXABI_1.3.13", "LIBBPF_0.9.0"),
    ];
    const newer = needs("GLIBC_2.38", "GLIBCXX_3.4.30", "CXXABI_1.3.14", "GCC_14.0.0");
    expect(newerSymbols([...old, ...newer])).toEqual(newer);
  });

  const isRoot = process.getuid?.() === 0;
  test.skipIf(!isRoot)(
    `keeps an edited configuration over an upgrade, and leaves nothing else behind${isRoot ? "" : ": needs root"}`,
    async () => {
      const root = join(folder, "rpm-root");
      const install = (path: string) =>
        run("rpm", "--root", root, "--nodeps", "--noscripts", "--ignorearch", "-U", path);
      mkdirSync(root);
      install(rpm());
      const settings = join(root, "etc/floodwall/floodwall.yaml");
      writeFileSync(settings, "networks: [203.0.113.0/24]\n");
      const newer = { version: "1.2.4", time: release.time + 1 };
      const native = ARCHITECTURES.find(({ name }) => name === "amd64") as Architecture;
      install((await smallBuild(native, { release: newer, directory: join(folder, "newer") })).rpm);
      expect(readFileSync(settings, "utf8")).toBe("networks: [203.0.113.0/24]\n");
      expect(run("rpm", "--root", root, "-q", "floodwall")).toBe("floodwall-1.2.4-1.x86_64\n");
      run("rpm", "--root", root, "--noscripts", "-e", "floodwall");
      const left = globSync("**/*floodwall*", { cwd: root });
      expect(left.toSorted()).toEqual(["etc/floodwall", "etc/floodwall/floodwall.yaml.rpmsave"]);
    },
  );
});

test("the image has a layer of each folder for both processors, owned by root but for the state", () => {
  const layout = join(folder, "layout");
  mkdirSync(layout);
  run("tar", "-xf", `floodwall-${release.version}.oci.tar`, "-C", layout);
  const json = (path: string) => JSON.parse(readFileSync(join(layout, path), "utf8"));
  const blob = (digest: string) => `blobs/${digest.replace(":", "/")}`;
  const [named] = json("index.json").manifests;
  expect(named.annotations["org.opencontainers.image.ref.name"]).toBe("floodwall:1.2.3-20260102T030405.gabc");
  const manifests = json(blob(named.digest)).manifests;
  expect(manifests.map((one: { platform: object }) => one.platform)).toEqual(
    ["amd64", "arm64"].map((architecture) => ({ architecture, os: "linux" })),
  );
  for (const { digest, size } of manifests) {
    expect(readFileSync(join(layout, blob(digest))).length).toBe(size);
    const manifest = json(blob(digest));
    const config = json(blob(manifest.config.digest));
    expect(manifest.layers.length).toBe(2);
    for (const [index, layer] of manifest.layers.entries()) {
      const content = Bun.gunzipSync(readFileSync(join(layout, blob(layer.digest))));
      expect(`sha256:${Bun.SHA256.hash(content, "hex")}`).toBe(config.rootfs.diff_ids[index]);
    }
    const [system, files] = manifest.layers.map((layer: { digest: string }) =>
      run("tar", "-tvzf", join(layout, blob(layer.digest))),
    );
    expect(files).toMatch(/^-rwxr-xr-x 0\/0 .* \.\/usr\/bin\/floodwall$/m);
    expect(system.match(/^.* \.\/var\/lib.*$/gm)).toEqual([
      expect.stringMatching(/^drwxr-xr-x 0\/0 .* \.\/var\/lib\/$/),
      expect.stringMatching(/^drwxr-xr-x 990\/990 .* \.\/var\/lib\/floodwall\/$/),
    ]);
  }
});

test("names each npm package that is inside, with its archive's hash and license", () => {
  const bill = JSON.parse(readFileSync(join(directory, "sbom.cdx.json"), "utf8")) as {
    bomFormat: string;
    components: { name: string; version: string; purl: string; hashes?: { content: string }[]; licenses?: object[] }[];
  };
  expect(bill.bomFormat).toBe("CycloneDX");
  const [bun, ...libraries] = bill.components;
  expect(bun?.name).toBe("bun");
  expect(libraries.map(({ name }) => name)).toEqual(NPM_PACKAGES);
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
