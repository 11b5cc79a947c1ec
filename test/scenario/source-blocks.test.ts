/** Source blocks of a service that is killed amid orders, again and again, that is stopped, and whose disk runs full. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const KILLS = 12;
/** Orders on their way at once, each of a source of its own. */
const WORKERS = 4;
/** The latest moment of a kill, ms after the service is ready. */
const KILL_MS = 150;
const BLOCK = "/api/v1/dataplane/sources";
const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dataplane: { interfaces: [fw-absent0] }
`;

/** What the service said last of a pair; null: killed before it answered, so that either is true. */
type Known = SourceBlockWire | "not blocked" | null;

const undo: (() => void | Promise<void>)[] = [];
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-sources-${process.pid}-`));
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
  rmSync(directory, { recursive: true, force: true });
});

async function start(): Promise<ServiceProcess> {
  const service = await ServiceProcess.start({ config: CONFIG, directory });
  undo.push(() => service.remove());
  return service;
}

async function listed(service: ServiceProcess): Promise<SourceBlockWire[]> {
  return (await service.get<{ sources: SourceBlockWire[] }>(BLOCK)).body.sources;
}

test(`blocks and unblocks with ${KILLS} times kill -9 lose no block that was acknowledged, and revive none`, async () => {
  const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const random = seededRandom(seed);
  const known = new Map<string, Known>();
  let acknowledged = 0;

  /** Resolves with false when the service died before it answered. */
  const order = async (service: ServiceProcess, source: string, victim: string): Promise<boolean> => {
    const name = `${source}->${victim}`;
    const before = known.get(name) ?? "not blocked";
    const isUnblock = before !== "not blocked" && random() < 0.6;
    known.set(name, null);
    const fields = { source, victim, ttl_seconds: 600 + Math.floor(random() * 600), reason: String(acknowledged) };
    const answer = await service
      .post<SourceBlockWire>(isUnblock ? `${BLOCK}/unblock` : BLOCK, fields)
      .catch(() => null);
    if (answer === null) return false;
    expect(answer.status).toBe(200);
    if (before !== "not blocked") expect(answer.body.created_at).toBe(before.created_at);
    known.set(name, isUnblock ? "not blocked" : answer.body);
    acknowledged++;
    return true;
  };

  const work = async (service: ServiceProcess, worker: number): Promise<void> => {
    const source = () => `198.51.100.${worker * 50 + Math.floor(random() * 50)}`;
    while (await order(service, source(), `203.0.113.${Math.floor(random() * 8)}`));
  };

  for (let kill = 0; kill < KILLS; kill++) {
    const service = await start();
    await agree(service, known);
    const dying = Bun.sleep(random() * KILL_MS).then(() => service.stop("SIGKILL"));
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(service, worker)));
    await dying;
  }
  const service = await start();
  await agree(service, known);
  console.log(`${acknowledged} orders acknowledged, ${(await listed(service)).length} blocks live`);
  expect(acknowledged).toBeGreaterThan(KILLS);
}, 180_000);

/** The blocks are as they were acknowledged; what was not is learned from the service. */
async function agree(service: ServiceProcess, known: Map<string, Known>): Promise<void> {
  const live = new Map((await listed(service)).map((block) => [`${block.source}->${block.victim}`, block]));
  for (const [name, expected] of known) {
    if (expected !== null) expect(live.get(name) ?? "not blocked").toEqual(expected);
    known.set(name, live.get(name) ?? "not blocked");
  }
  expect([...live.keys()].filter((name) => !known.has(name))).toEqual([]);
}

test("a stop keeps the blocks, and one that lapses meanwhile is not revived", async () => {
  const first = await start();
  const pair = { source: "198.51.100.1", victim: "203.0.113.1" };
  const { body } = await first.post<SourceBlockWire>(BLOCK, { ...pair, ttl_seconds: 600, reason: "scan" });
  const short = await first.post<SourceBlockWire>(BLOCK, { ...pair, victim: "203.0.113.2", ttl_seconds: 1 });
  expect(await first.stop()).toBe(0);
  await eventually(() => Date.now() > Date.parse(short.body.expires_at), "time stands still");
  const second = await start();
  expect(await listed(second)).toEqual([body]);
  expect((await second.post(`${BLOCK}/unblock`, pair)).status).toBe(200);
  await second.stop("SIGKILL");
  expect(await listed(await start())).toEqual([]);
});

const isRoot = process.getuid?.() === 0;

function run(...argv: string[]): void {
  const { success, stderr } = Bun.spawnSync(argv);
  if (!success) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
}

test.skipIf(!isRoot)(`a full disk refuses orders and changes nothing${isRoot ? "" : ": needs root"}`, async () => {
  const state = join(directory, "state");
  mkdirSync(state);
  run("mount", "-t", "tmpfs", "-o", "size=512k", "floodwall-test", state);
  undo.push(() => run("umount", "-l", state));
  const service = await start();
  const pair = { source: "198.51.100.1", victim: "203.0.113.1" };
  const { body } = await service.post<SourceBlockWire>(BLOCK, { ...pair, ttl_seconds: 600 });
  const ballast = join(state, "ballast");
  expect(() => writeFileSync(ballast, new Uint8Array(1 << 20))).toThrow("ENOSPC");
  // What is left of the database's own last page may take a few more.
  let refused: { status: number; body: unknown } = { status: 0, body: null };
  const taken: SourceBlockWire[] = [body];
  await eventually(async () => {
    for (let i = 2; i < 50; i++) {
      const order = { source: `198.51.100.${i}`, victim: "203.0.113.1", ttl_seconds: 600, reason: "x".repeat(900) };
      const answer = await service.post<SourceBlockWire>(BLOCK, order);
      refused = answer;
      if (answer.status !== 200) return true;
      if (!taken.some(({ source }) => source === order.source)) taken.push(answer.body);
    }
    return false;
  }, "the full disk was not noticed");
  expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining("nothing was changed") } });
  expect((await service.post(`${BLOCK}/unblock`, pair)).status).toBe(503);
  expect((await listed(service)).map(({ source }) => source)).toEqual(taken.map(({ source }) => source));
  rmSync(ballast);
  expect((await service.post(`${BLOCK}/unblock`, pair)).status).toBe(200);
  await service.stop("SIGKILL");
  const next = await start();
  expect((await listed(next)).map(({ source }) => source).toSorted()).toEqual(
    taken
      .slice(1)
      .map(({ source }) => source)
      .toSorted(),
  );
});
