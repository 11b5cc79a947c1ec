/** The first Bun of a machine comes by npm, and is unpacked when it is the one of the lock file and no other. */
import { afterEach, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Programs } from "../fixtures/programs.ts";
import { ROOT } from "../source-tree.ts";

const PACKAGE = process.arch === "arm64" ? "@oven/bun-linux-aarch64" : "@oven/bun-linux-x64";
const OTHER =
  process.arch === "arm64"
    ? { machine: "x86_64", package: "@oven/bun-linux-x64" }
    : { machine: "aarch64", package: "@oven/bun-linux-aarch64" };
const SCRIPT = join(ROOT, "setup/first-bun.sh");
const OFFLINE = "case $1 in --version) echo 9.2.0 ;; *) exit 1 ;; esac";
/** An npm that has one package, and writes down the requests. */
const NPM = `here=$(dirname $0)/..
case $1 in
  --version) echo 9.2.0 ;;
  pack) echo "$*" >> "$here/asked"; cp "$here/archive.tgz" ./bun.tgz ;;
esac`;

const machines: Programs[] = [];
afterEach(() => {
  for (const machine of machines.splice(0)) machine.remove();
});

/** A machine whose registry has this script as Bun, and a lock file that describes it, or another one. */
async function machineWith(bun: string, { npm = NPM, described = true } = {}): Promise<Programs> {
  const machine = new Programs({ npm, node: "echo v18.20.4" });
  machines.push(machine);
  const pack = `mkdir -p package/bin && printf '#!/bin/sh\\n${bun}\\n' > package/bin/bun && chmod 755 package/bin/bun
    echo > asked; tar -czf archive.tgz package; rm -r package`;
  expect((await machine.run(["sh", "-ec", pack])).exitCode).toBe(0);
  const archive = readFileSync(join(machine.folder, "archive.tgz"));
  const hash = new Bun.CryptoHasher("sha512").update(archive.subarray(described ? 0 : 1)).digest("base64");
  const entry = (name: string, sum: string) => `    "${name}": ["${name}@9.9.9", "", {}, "sha512-${sum}"],`;
  const lines = [
    "{",
    '  "packages": {',
    entry(`${PACKAGE}-musl`, "AAAA"),
    "",
    entry(PACKAGE, hash),
    entry(OTHER.package, hash),
    "  }",
    "}",
    "",
  ];
  writeFileSync(join(machine.folder, "bun.lock"), lines.join("\n"));
  return machine;
}

const fetchOn = (machine: Programs) => machine.run([SCRIPT, "bun.lock", "first-bun"]);
const asked = ({ folder }: Programs) => readFileSync(join(folder, "asked"), "utf8").trim().split("\n");

test("the version of the lock file is fetched once, and no script of it runs", async () => {
  const machine = await machineWith("echo 9.9.9");
  expect(await fetchOn(machine)).toEqual({ exitCode: 0, output: "fetching Bun 9.9.9\n" });
  expect(await machine.run(["first-bun/bun", "--version"])).toEqual({ exitCode: 0, output: "9.9.9\n" });
  expect(await fetchOn(machine)).toEqual({ exitCode: 0, output: "" });
  expect(asked(machine)).toEqual([expect.stringContaining(`--ignore-scripts ${PACKAGE}@9.9.9`)]);
});

test("that of another processor is fetched once, and not run", async () => {
  const machine = await machineWith("touch ran");
  const fetch = () => machine.run([SCRIPT, "bun.lock", "other", OTHER.machine]);
  expect(await fetch()).toEqual({ exitCode: 0, output: "fetching Bun 9.9.9\n" });
  expect(await fetch()).toEqual({ exitCode: 0, output: "" });
  expect(asked(machine)).toEqual([expect.stringContaining(`${OTHER.package}@9.9.9`)]);
  expect((await machine.run(["ls", "other"])).output).toBe("bun\nversion\n");
});

test("another version than that of the lock file is fetched again", async () => {
  const machine = await machineWith("echo 9.9.8");
  for (const _ of [1, 2]) expect((await fetchOn(machine)).exitCode).toBe(0);
  expect(asked(machine)).toHaveLength(2);
});

test("what is not described by the lock file is never unpacked", async () => {
  const machine = await machineWith("touch ran; echo 9.9.9", { described: false });
  const { exitCode, output } = await fetchOn(machine);
  expect([exitCode, output]).toEqual([1, expect.stringContaining(`${PACKAGE}@9.9.9 is not what`)]);
  expect((await machine.run(["ls", "first-bun"])).output).toBe("");
});

test("a registry out of reach, a Bun that does not run and a lock file without one are named", async () => {
  const empty = await machineWith("echo 9.9.9");
  writeFileSync(join(empty.folder, "bun.lock"), "{}\n");
  const faults = [
    [await machineWith("echo 9.9.9", { npm: OFFLINE }), `npm 9.2.0 on node v18.20.4 cannot fetch ${PACKAGE}@9.9.9`],
    [await machineWith("exit 126"), "Bun 9.9.9 does not run here"],
    [empty, `bun.lock names no version of ${PACKAGE}\n`],
  ] as const;
  for (const [machine, complaint] of faults) {
    expect(await fetchOn(machine)).toEqual({ exitCode: 1, output: expect.stringContaining(complaint) });
  }
});
