import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { withoutCapabilities } from "./capabilities.ts";

const isRoot = process.getuid?.() === 0;
const reason = isRoot ? "" : ": needs root";
/** As text: another user may not read a checkout that root owns. */
const MODULE = new Bun.Transpiler({ loader: "ts" }).transformSync(
  readFileSync(join(import.meta.dir, "capabilities.ts"), "utf8"),
);
const BIND = 1n << 10n;

/** The capabilities in /proc of a program that a service of an unprivileged user with these capabilities starts. */
async function rightsOfChild(capabilities: string, binds: boolean): Promise<bigint> {
  const child = `withoutCapabilities(["/bin/grep", "CapEff", "/proc/self/status"], { binds: ${binds} })`;
  const code = `${MODULE}\nconst { stdout } = Bun.spawnSync(${child}); console.log(stdout.toString())`;
  const ids = ["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];
  const set = `-all,${capabilities}`;
  const rights = [`--inh-caps=${set}`, `--ambient-caps=${set}`, `--bounding-set=${set}`];
  const run = Bun.spawn(["setpriv", ...ids, ...rights, process.execPath, "-e", code], { stdout: "pipe", cwd: "/" });
  const bits = /CapEff:\s*([0-9a-f]+)/.exec(await run.stdout.text())?.[1];
  return BigInt(`0x${bits}`);
}

test.skipIf(!isRoot)(`a program started by an unprivileged service has none of its capabilities${reason}`, async () => {
  expect(await rightsOfChild("+net_admin,+net_bind_service,+sys_nice", false)).toBe(0n);
});

test.skipIf(!isRoot)(
  `but for the right to listen on a low port, where it is requested and there${reason}`,
  async () => {
    expect(await rightsOfChild("+net_admin,+net_bind_service", true)).toBe(BIND);
    expect(await rightsOfChild("+net_admin", true)).toBe(0n);
  },
);

test("without capabilities to hand on, the command stays as it is", () => {
  expect(withoutCapabilities(["/bin/true", "x"], { binds: true })).toEqual(["/bin/true", "x"]);
});
