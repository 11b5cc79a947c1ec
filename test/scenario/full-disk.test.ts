/**
 * A state folder on a small file system of its own that runs full: what would begin is refused, what ends is in force at
 * once and stored as soon as there is room, and nothing is lost.
 */
import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../fixtures/run-command.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually } from "../fixtures/service.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dataplane: { interfaces: [fw-absent0] }
`;
const BLOCKS = "/api/v1/dataplane/sources";
const block = (i: number) => ({ source: `198.51.100.${i}`, victim: "203.0.113.1", ttl_seconds: 600 });
type Row = Readonly<Record<string, string>>;

const isRoot = process.getuid?.() === 0;
const scene = new Scenario();

test.skipIf(!isRoot).each([
  ["/api/v1/ban", "/api/v1/unban", "/api/v1/bans", (i: number) => ({ ip: `203.0.113.${i}` })],
  [BLOCKS, `${BLOCKS}/unblock`, BLOCKS, (i: number) => ({ ...block(i), reason: "x".repeat(900) })],
])(
  `a full disk refuses %s, and takes it again when there is room${isRoot ? "" : ": needs root"}`,
  async (begin, end, list, order) => {
    const state = join(scene.directory, "state");
    mkdirSync(state);
    runCommand(["mount", "-t", "tmpfs", "-o", "size=512k", "floodwall-test", state]);
    scene.onEnd(() => runCommand(["umount", "-l", state]));
    const service = await scene.start(CONFIG);
    const live = async (of = service) => {
      const { bans = [], sources = [] } = (await of.get<Record<string, Row[]>>(list)).body;
      return [...bans, ...sources]
        .filter((row) => row["state"] !== "withdrawn")
        .map((row) => row["target"] ?? row["source"]);
    };
    expect((await service.post(begin, order(1))).status).toBe(200);
    const ballast = join(state, "ballast");
    expect(() => writeFileSync(ballast, new Uint8Array(1 << 20))).toThrow("ENOSPC");
    const begun = [order(1)];
    let orders = 1;
    let refused: { status: number; body: unknown } = { status: 0, body: null };
    // What is left of the database's own last page may take a few more.
    const untilRefused = () =>
      eventually(async () => {
        refused = { status: 0, body: null };
        while (begun.length < 50 && refused.status !== 503) {
          const next = order(++orders);
          refused = await service.post(begin, next);
          if (refused.status === 200) begun.push(next);
        }
        return refused.status === 503;
      }, "the full disk was not noticed");
    let before: unknown[] = [];
    let ended: { status: number; body: unknown } = { status: 0, body: null };
    // A checkpoint may make room in the log just then.
    for (let tries = 0; tries < 5 && (ended.body as { saved?: boolean } | null)?.saved !== false; tries++) {
      await untilRefused();
      before = await live();
      ended = await service.post(end, begun.shift());
    }
    expect(refused.body).toEqual({ error: expect.stringContaining("nothing was changed") });
    expect(ended).toMatchObject({ status: 200, body: { saved: false } });
    expect(await live()).toHaveLength(before.length - 1);
    const unsaved = async () => {
      const { body } = await service.get<{ storage: { unsaved: number } }>("/api/v1/status");
      return body.storage.unsaved;
    };
    expect(await unsaved()).toBe(1);
    rmSync(ballast);
    await eventually(async () => (await unsaved()) === 0, "what was ended is not stored");
    await service.stop("SIGKILL");
    const left = await live(await scene.start(CONFIG));
    expect(before).toHaveLength(left.length + 1);
    expect(before).toEqual(expect.arrayContaining(left));
  },
);
