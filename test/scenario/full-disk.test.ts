/** A state folder on a small file system of its own that runs full: what is ordered is refused, nothing is lost. */
import { afterEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;
const isRoot = process.getuid?.() === 0;

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function run(...argv: string[]): void {
  const { success, stderr } = Bun.spawnSync(argv);
  if (!success) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
}

test.skipIf(!isRoot)(
  `a full disk refuses orders, and takes them again when there is room${isRoot ? "" : ": needs root"}`,
  async () => {
    const directory = mkdtempSync(join(tmpdir(), `floodwall-disk-${process.pid}-`));
    undo.push(() => rmSync(directory, { recursive: true, force: true }));
    const state = join(directory, "state");
    mkdirSync(state);
    run("mount", "-t", "tmpfs", "-o", "size=512k", "floodwall-test", state);
    undo.push(() => run("umount", "-l", state));
    const service = await ServiceProcess.start({ config: CONFIG, directory });
    undo.push(() => service.remove());
    expect((await service.post("/api/v1/ban", { ip: "203.0.113.1" })).status).toBe(200);

    const ballast = join(state, "ballast");
    expect(() => writeFileSync(ballast, new Uint8Array(1 << 20))).toThrow("ENOSPC");
    // What is left of the database's own last page may take a few more.
    let refused: { status: number; body: unknown } = { status: 0, body: null };
    await eventually(async () => {
      for (let i = 2; i < 50; i++) {
        refused = await service.post("/api/v1/ban", { ip: `203.0.113.${i}` });
        if (refused.status !== 200) return true;
      }
      return false;
    }, "the full disk was not noticed");
    expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining("nothing was changed") } });
    const before = (await service.get<{ bans: { state: string }[] }>("/api/v1/bans")).body.bans.length;
    expect((await service.post("/api/v1/unban", { ip: "203.0.113.1" })).status).toBe(503);

    rmSync(ballast);
    expect((await service.post("/api/v1/unban", { ip: "203.0.113.1" })).status).toBe(200);
    await service.stop("SIGKILL");
    const next = await ServiceProcess.start({ config: CONFIG, directory });
    undo.push(() => next.remove());
    const { bans } = (await next.get<{ bans: { target: string; state: string }[] }>("/api/v1/bans")).body;
    expect(bans).toHaveLength(before);
    expect(bans.find(({ target }) => target === "203.0.113.1")?.state).toBe("withdrawn");
  },
);
