/** Commands inside a system: nothing of them is left, however they end. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { eventually } from "../fixtures/service.ts";
import { MACHINES, RootFolder, rootFolderUnavailable } from "./root-folder.ts";

const reason = rootFolderUnavailable === null ? "" : ` (skipped: ${rootFolderUnavailable})`;
const MINUTE_MS = 60_000;

describe.skipIf(rootFolderUnavailable !== null)(`a root folder${reason}`, () => {
  let root: RootFolder;
  let logs: string;

  beforeAll(() => {
    logs = mkdtempSync(join(tmpdir(), `floodwall-root-folder-${process.pid}-`));
    root = systemOf("sh", "sleep", "cat");
  });
  afterAll(() => {
    root.remove();
    rmSync(logs, { recursive: true });
  });

  /** A system that has these programs of this machine, and no more. */
  function systemOf(...programs: readonly string[]): RootFolder {
    const folder = RootFolder.make("test");
    for (const name of ["proc", "dev", "sys", "run", "tmp"]) mkdirSync(join(folder.path, name));
    const paths = programs.map((name) => Bun.which(name) ?? name);
    const libraries = Bun.spawnSync(["ldd", ...paths])
      .stdout.toString()
      .matchAll(/(\/\S+) \(0x/g);
    for (const path of new Set([...paths, ...[...libraries].map(([, library]) => library as string)])) {
      mkdirSync(dirname(join(folder.path, path)), { recursive: true });
      copyFileSync(path, join(folder.path, path));
    }
    // Where usr is not merged into the root, as it is on this machine.
    if (!existsSync(join(folder.path, "bin"))) mkdirSync(join(folder.path, "bin"));
    copyFileSync("/bin/sh", join(folder.path, "bin/sh"));
    return folder;
  }

  const run = async (script: string, deadlineMs = MINUTE_MS) => {
    const log = join(logs, `${crypto.randomUUID()}.log`);
    const exitCode = await root.run(["sh", "-c", script], { directory: "/tmp", log, deadlineMs });
    return { exitCode, output: readFileSync(log, "utf8") };
  };
  const mountsHere = () =>
    readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .filter((line) => line.includes(root.path));
  const processesThere = () => {
    const found = Bun.spawnSync(["sh", "-c", `ls -l /proc/[0-9]*/root 2>/dev/null | grep -c '${root.path}$'`]);
    return Number(found.stdout.toString());
  };

  test("a command sees that system, its own processes and a mounted root, and leaves no mount", async () => {
    const { exitCode, output } = await run(
      'cat /proc/1/comm; while read -r _ at _; do echo "on $at"; done < /proc/mounts; exit 3',
    );
    expect(exitCode).toBe(3);
    const lines = output.split("\n");
    expect(lines[0]).toBe("sh");
    for (const place of ["/", "/proc", "/sys", "/sys/fs/bpf", "/dev", "/run"]) expect(lines).toContain(`on ${place}`);
    expect(mountsHere()).toEqual([]);
  });

  test("what it leaves running ends with it", async () => {
    const { exitCode, output } = await run("sleep 600 & echo started");
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: "started\n" });
    await eventually(() => processesThere() === 0, "a process is left");
  });

  test("at its deadline all of it ends", async () => {
    const ended = run("sleep 600 & echo started; sleep 600", 1000);
    await eventually(() => processesThere() > 0, "nothing runs there");
    expect(await ended).toEqual({ exitCode: null, output: "started\n" });
    await eventually(() => processesThere() === 0, "a process is left");
    expect(mountsHere()).toEqual([]);
  });

  test("folders of processes that are gone are removed with the next one, those of others stay", () => {
    const ended = Bun.spawnSync(["true"]).pid;
    const stale = join(MACHINES, `roots/bookworm-${ended}-0`);
    const live = join(MACHINES, `roots/bookworm-${process.ppid}-999`);
    mkdirSync(stale);
    mkdirSync(live);
    try {
      RootFolder.make("test").remove();
      expect(existsSync(stale)).toBe(false);
      expect(existsSync(live)).toBe(true);
      expect(existsSync(root.path)).toBe(true);
    } finally {
      rmSync(live, { recursive: true });
    }
  });
});
