/** The first Bun of a machine comes by npm, and is unpacked when it is the one of the lock file and no other. */
import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Programs } from "../fixtures/programs.ts";
import { ROOT } from "../source-tree.ts";

const PACKAGE = process.arch === "arm64" ? "@oven/bun-linux-aarch64" : "@oven/bun-linux-x64";
const SCRIPT = join(ROOT, "setup/first-bun.sh");
/** An npm that has one package, and writes down what it was asked for. */
const NPM = `case $1 in
  --version) echo 9.2.0 ;;
  pack) echo "$*" >> "$FOLDER/asked"; cp "$FOLDER/archive.tgz" ./bun.tgz ;;
esac`;

const machines: Programs[] = [];
afterEach(() => {
  for (const machine of machines.splice(0)) machine.remove();
});

/** A machine whose registry has this as Bun, and a lock file that describes it. */
async function machineWith({ bun, npm = NPM }: { readonly bun: string; readonly npm?: string }): Promise<Programs> {
  const machine = new Programs({ npm: npm.replaceAll("$FOLDER", "$(dirname $0)/.."), node: "echo v18.20.4" });
  machines.push(machine);
  const program = join(machine.folder, "package/bin/bun");
  mkdirSync(join(machine.folder, "package/bin"), { recursive: true });
  writeFileSync(program, `#!/bin/sh\n${bun}\n`, { mode: 0o755 });
  const archive = join(machine.folder, "archive.tgz");
  expect((await machine.run(["tar", "-czf", archive, "package"])).exitCode).toBe(0);
  const hash = new Bun.CryptoHasher("sha512").update(readFileSync(archive)).digest("base64");
  writeLock(machine, { version: "9.9.9", hash });
  return machine;
}

function writeLock({ folder }: Programs, { version, hash }: { readonly version: string; readonly hash: string }): void {
  const entry = (name: string, sum: string) =>
    `    "${name}": ["${name}@${version}", "", { "os": "linux" }, "sha512-${sum}"],`;
  const lines = ["{", '  "packages": {', entry(`${PACKAGE}-musl`, "AAAA"), "", entry(PACKAGE, hash), "  }", "}", ""];
  writeFileSync(join(folder, "bun.lock"), lines.join("\n"));
}

const fetchOn = (machine: Programs) => machine.run([SCRIPT, "bun.lock", "first-bun"]);
const asked = ({ folder }: Programs) =>
  existsSync(join(folder, "asked")) ? readFileSync(join(folder, "asked"), "utf8") : "";

test("the version of the lock file is fetched once, and no script of it runs", async () => {
  const machine = await machineWith({ bun: "echo 9.9.9" });
  expect(await fetchOn(machine)).toEqual({ exitCode: 0, output: "fetching Bun 9.9.9\n" });
  expect(await machine.run(["first-bun/bun", "--version"])).toEqual({ exitCode: 0, output: "9.9.9\n" });
  expect(asked(machine)).toContain(`--ignore-scripts ${PACKAGE}@9.9.9\n`);
  expect(await fetchOn(machine)).toEqual({ exitCode: 0, output: "" });
  expect(asked(machine).match(/\n/g)).toHaveLength(1);
});

test("another version in the lock file takes its place", async () => {
  const machine = await machineWith({ bun: "echo 9.9.8" });
  expect((await fetchOn(machine)).exitCode).toBe(0);
  expect((await fetchOn(machine)).exitCode).toBe(0);
  expect(asked(machine).match(/\n/g)).toHaveLength(2);
});

test("what is not described by the lock file is never unpacked", async () => {
  const machine = await machineWith({ bun: "touch ran; echo 9.9.9" });
  const lock = join(machine.folder, "bun.lock");
  const hash = /"sha512-(.{86}==)"/.exec(readFileSync(lock, "utf8"))?.[1] ?? "";
  writeLock(machine, { version: "9.9.9", hash: `${hash[0] === "A" ? "B" : "A"}${hash.slice(1)}` });
  const { exitCode, output } = await fetchOn(machine);
  expect(exitCode).toBe(1);
  expect(output).toContain(`${PACKAGE}@9.9.9 is not what`);
  expect(existsSync(join(machine.folder, "first-bun/bun"))).toBe(false);
  expect(existsSync(join(machine.folder, "first-bun/ran"))).toBe(false);
});

test("a registry out of reach, a Bun that does not run and a lock file without one are named", async () => {
  const offline = await machineWith({
    bun: "echo 9.9.9",
    npm: `case $1 in --version) echo 9.2.0 ;; *) exit 1 ;; esac`,
  });
  const refused = await fetchOn(offline);
  expect(refused.exitCode).toBe(1);
  expect(refused.output).toContain(`npm 9.2.0 on node v18.20.4 cannot fetch ${PACKAGE}@9.9.9`);

  const strange = await fetchOn(await machineWith({ bun: "exit 126" }));
  expect(strange.exitCode).toBe(1);
  expect(strange.output).toContain("Bun 9.9.9 does not run here");

  const empty = await machineWith({ bun: "echo 9.9.9" });
  writeFileSync(join(empty.folder, "bun.lock"), "{}\n");
  expect(await fetchOn(empty)).toEqual({ exitCode: 1, output: `bun.lock names no version of ${PACKAGE}\n` });
});
