/** Commands inside a system: nothing of them is left, however they end. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../fixtures/service.ts";
import { MACHINES, RootFolder, rootFolderUnavailable } from "./root-folder.ts";

const BUSYBOX = "/bin/busybox";
const unavailable = rootFolderUnavailable ?? (existsSync(BUSYBOX) ? null : "busybox is not installed");
const reason = unavailable === null ? "" : ` (skipped: ${unavailable})`;

describe.skipIf(unavailable !== null)(`a root folder${reason}`, () => {
  let root: RootFolder;

  beforeAll(() => {
    root = RootFolder.make("test");
    for (const name of ["proc", "dev", "sys", "run", "tmp", "bin"]) mkdirSync(join(root.path, name));
    copyFileSync(BUSYBOX, join(root.path, BUSYBOX));
    for (const name of ["sh", "sleep", "cat"]) symlinkSync("busybox", join(root.path, "bin", name));
  });
  afterAll(() => root.remove());

  const run = async (script: string, deadlineMs = 60_000) => {
    const log = join(root.path, `${crypto.randomUUID()}.log`);
    const exitCode = await root.run(["sh", "-c", script], { directory: "/tmp", log, deadlineMs });
    return { exitCode, output: readFileSync(log, "utf8") };
  };
  const expectNothingLeft = async () => {
    await eventually(() => processesThere() === 0, "a process is left");
    expect(readFileSync("/proc/self/mounts", "utf8")).not.toContain(root.path);
  };
  const processesThere = () => {
    const found = Bun.spawnSync(["sh", "-c", `ls -l /proc/[0-9]*/root 2>/dev/null | grep -c '${root.path}$'`]);
    return Number(found.stdout.toString());
  };

  test("a command sees that system, its own processes and a mounted root, and what it leaves running ends with it", async () => {
    const mounts = 'while read -r _ at _; do echo "on $at"; done < /proc/mounts';
    const { exitCode, output } = await run(`sleep 600 & cat /proc/1/comm; ${mounts}; exit 3`);
    expect(exitCode).toBe(3);
    const lines = output.split("\n");
    expect(lines[0]).toBe("sh");
    for (const place of ["/", "/proc", "/sys", "/sys/fs/bpf", "/dev", "/run"]) expect(lines).toContain(`on ${place}`);
    await expectNothingLeft();
  });

  test("at its deadline all of it ends", async () => {
    expect(await run("sleep 600 & echo started; sleep 600", 1000)).toEqual({ exitCode: null, output: "started\n" });
    await expectNothingLeft();
  });

  test("folders of processes that are gone are removed with the next one, those of others stay", () => {
    const ended = Bun.spawnSync(["true"]).pid;
    const stale = join(MACHINES, `roots/bookworm-${ended}-0`);
    const live = join(MACHINES, `roots/bookworm-${process.ppid}-999`);
    for (const folder of [stale, live]) mkdirSync(folder);
    try {
      RootFolder.make("test").remove();
      expect([stale, live, root.path].map((path) => existsSync(path))).toEqual([false, true, true]);
    } finally {
      rmSync(live, { recursive: true });
    }
  });
});
