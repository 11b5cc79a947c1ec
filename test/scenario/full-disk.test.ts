/**
 * A state folder on a small file system of its own that runs full: what would begin is refused, what ends is in force at
 * once and stored as soon as there is room, and nothing is lost.
 */
import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dataplane: { interfaces: [fw-absent0] }
`;
const BLOCKS = "/api/v1/dataplane/sources";
const KINDS = [
  {
    name: "bans",
    order: (i: number) => ({ ip: `203.0.113.${i}` }),
    ...{ begin: "/api/v1/ban", end: "/api/v1/unban" },
    live: async (service: ServiceProcess) => {
      const { bans } = (await service.get<{ bans: { target: string; state: string }[] }>("/api/v1/bans")).body;
      return bans.filter(({ state }) => state === "active").map(({ target }) => target);
    },
  },
  {
    name: "source blocks",
    order: (i: number) => ({
      ...{ source: `198.51.100.${i}`, victim: "203.0.113.1", ttl_seconds: 600 },
      reason: "x".repeat(900),
    }),
    ...{ begin: BLOCKS, end: `${BLOCKS}/unblock` },
    live: async (service: ServiceProcess) =>
      (await service.get<{ sources: { source: string }[] }>(BLOCKS)).body.sources.map(({ source }) => source),
  },
] as const;

const isRoot = process.getuid?.() === 0;
const scene = new Scenario();

async function unsaved(service: ServiceProcess): Promise<number> {
  return (await service.get<{ storage: { unsaved: number } }>("/api/v1/status")).body.storage.unsaved;
}

function run(...argv: string[]): void {
  const { success, stderr } = Bun.spawnSync(argv);
  if (!success) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
}

test.skipIf(!isRoot).each(KINDS.map((kind) => [kind.name, kind] as const))(
  `a full disk refuses %s, and takes them again when there is room${isRoot ? "" : ": needs root"}`,
  async (_, { order, begin, end, live }) => {
    const state = join(scene.directory, "state");
    mkdirSync(state);
    run("mount", "-t", "tmpfs", "-o", "size=512k", "floodwall-test", state);
    scene.onEnd(() => run("umount", "-l", state));
    const service = await scene.start(CONFIG);
    expect((await service.post(begin, order(1))).status).toBe(200);
    const ballast = join(state, "ballast");
    expect(() => writeFileSync(ballast, new Uint8Array(1 << 20))).toThrow("ENOSPC");
    // What is left of the database's own last page may take a few more.
    let refused: { status: number; body: unknown } = { status: 0, body: null };
    await eventually(async () => {
      for (let i = 2; i < 50; i++) {
        refused = await service.post(begin, order(i));
        if (refused.status !== 200) return true;
      }
      return false;
    }, "the full disk was not noticed");
    expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining("nothing was changed") } });
    const before = (await live(service)).toSorted();
    expect(await service.post(end, order(1))).toMatchObject({ status: 200, body: { saved: false } });
    expect(await live(service)).toHaveLength(before.length - 1);
    expect(await unsaved(service)).toBe(1);
    rmSync(ballast);
    await eventually(async () => (await unsaved(service)) === 0, "what was ended is not stored");
    await service.stop("SIGKILL");
    const left = await live(await scene.start(CONFIG));
    expect(before).toHaveLength(left.length + 1);
    expect(before).toEqual(expect.arrayContaining([...left]));
  },
);
