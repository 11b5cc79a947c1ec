/**
 * A disk whose fsync takes seconds or for ever: the real service, with a library before libc that holds its fsync calls.
 * Meanwhile it answers, judges and announces.
 */
import { beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { evenly } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { runCommand } from "../fixtures/run-command.ts";
import { eventually, OutputProcess, type ServiceProcess } from "../fixtures/service.ts";

const SOURCE = join(import.meta.dir, "../fixtures/storage/slow-disk.c");
const HANGING_FILES = join(import.meta.dir, "../fixtures/storage/hanging-files.ts");
const FSYNC_MS = 2000;
const START_MS = 1_700_000_000_000;
const FRAME = ethernet(ip({ src: "198.51.100.7", dst: "203.0.113.9" }, udp()));
const scene = new PeeredScenario();
let library: string;

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), `floodwall-slow-disk-${process.pid}-`));
  library = join(folder, "slow-disk.so");
  runCommand(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"]);
  return () => rmSync(folder, { recursive: true, force: true });
});

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dry_run: false
`;
const slowFile = () => join(scene.directory, "slow");

/** The service on a disk that is as slow as its file says; the file is not there yet. */
async function started(sections = ""): Promise<{ service: ServiceProcess; slow: string }> {
  const slow = slowFile();
  const config = CONFIG + sections + (await scene.peer());
  const service = await scene.start(config, { env: { LD_PRELOAD: library, SLOW_DISK: slow } });
  return { service, slow };
}

const ban = (service: ServiceProcess, i: number) => service.post("/api/v1/ban", { ip: `203.0.113.${i}` });
const unban = (service: ServiceProcess, i: number) => service.post("/api/v1/unban", { ip: `203.0.113.${i}` });
const prefixes = async () => (await scene.bird.prefixes()).join();

test("while fsync takes 2 s, a flood is banned, an unban withdraws its route, and orders wait for the disk together", async () => {
  const flood = evenly(new Array<Uint8Array>(40_000).fill(FRAME), { startMs: START_MS + 5000, stepMs: 0.3 });
  const { service, slow } = await started(scene.capture(evenly([FRAME], { startMs: START_MS }), flood));
  expect((await ban(service, 1)).status).toBe(200);
  await eventually(async () => (await prefixes()) === "203.0.113.1/32", "the first ban is not announced");
  writeFileSync(slow, String(FSYNC_MS));
  await eventually(async () => (await prefixes()).includes("203.0.113.9/32"), "the flood is not banned");
  let isAnswered = false;
  const orders = Promise.all([2, 3, 4].map((i) => ban(service, i))).finally(() => {
    isAnswered = true;
  });
  const ended = unban(service, 1);
  let looks = 0;
  await eventually(async () => {
    expect((await fetch(`http://127.0.0.1:${service.port}/healthz`)).status).toBe(200);
    if (!isAnswered) looks++;
    return !(await prefixes()).includes("203.0.113.1/32");
  }, "the unban withdraws nothing");
  // All of that while the orders wait: had the event loop waited for the disk, they would have been answered before.
  expect([isAnswered, looks > 0]).toEqual([false, true]);
  expect((await orders).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await ended).body).not.toHaveProperty("saved");
  await service.stop("SIGKILL");
  rmSync(slow);
  const { service: again } = await started();
  const { bans } = (await again.get<{ bans: { target: string; state: string }[] }>("/api/v1/bans")).body;
  const active = bans.filter(({ state }) => state === "active").map(({ target }) => target);
  expect(active).toEqual(expect.arrayContaining(["203.0.113.2", "203.0.113.3", "203.0.113.4"]));
  expect(active).not.toContain("203.0.113.1");
}, 60_000);

test("a disk that hangs refuses what begins, and what ends is in force; the service still stops in time", async () => {
  const { service, slow } = await started();
  expect((await ban(service, 1)).status).toBe(200);
  writeFileSync(slow, "-1");
  const [begun, ended] = await Promise.all([ban(service, 2), unban(service, 1)]);
  expect(begun).toMatchObject({
    status: 503,
    body: { error: expect.stringContaining("within 8 s; nothing was changed") },
  });
  expect(ended).toMatchObject({ status: 200, body: { state: "withdrawn", saved: false } });
  await eventually(async () => (await prefixes()) === "", "a route is left");
  const { body } = await service.get<{ storage: { unsaved: number } }>("/api/v1/status");
  expect(body.storage.unsaved).toBe(1);
  // The disk takes what it held: the order that was given up is undone (docs/interface.md#saved-given-up).
  writeFileSync(slow, "0");
  await eventually(async () => {
    const { body: now } = await service.get<{ storage: { unsaved: number } }>("/api/v1/status");
    return now.storage.unsaved === 0;
  }, "what waited is not stored");
  await service.stop("SIGKILL");
  rmSync(slow);
  const learning =
    "baseline: { factor: 3, half_life_seconds: 60, warmup_seconds: 0, floor: { pps: 100, mbps: 1, flows_per_sec: 10 } }\n";
  const { service: again, slow: slowAgain } = await started(
    learning + scene.capture(evenly(new Array<Uint8Array>(50).fill(FRAME), { stepMs: 100 })),
  );
  const { bans } = (await again.get<{ bans: { state: string }[] }>("/api/v1/bans")).body;
  expect(bans.map(({ state }) => state)).toEqual(["withdrawn"]);
  const metrics = () => fetch(`http://127.0.0.1:${again.port}/metrics`).then((answer) => answer.text());
  await eventually(async () => /^svc_baselines [1-9]/m.test(await metrics()), "nothing is learned");
  writeFileSync(slowAgain, "-1");
  void ban(again, 3).catch(() => null);
  expect(await again.stop()).toBe(0);
}, 60_000);

test("while fsync takes a second, a reload that saves the first clearance masters waits for it alone", async () => {
  const service = await scene.start(CONFIG, { env: { LD_PRELOAD: library, SLOW_DISK: slowFile() } });
  service.writeConfig(
    `${CONFIG}edge: { zones_file: ${scene.file("zones.yaml", "zones: []\n")}, nodes: [{ name: e1 }] }\n`,
  );
  writeFileSync(slowFile(), "1000");
  const reload = service.post("/api/v1/config/reload", {});
  const masters = join(scene.directory, "state/clearance-masters");
  await eventually(() => existsSync(`${masters}.new`), "no master is saved");
  expect((await fetch(`http://127.0.0.1:${service.port}/healthz`)).status).toBe(200);
  expect(existsSync(masters)).toBe(false);
  expect((await reload).status).toBe(200);
  expect(existsSync(masters)).toBe(true);
}, 60_000);

test("files that cannot be written to a disk that hangs leave threads for the resolution of names", async () => {
  const folder = join(scene.directory, "state");
  writeFileSync(slowFile(), "-1");
  const env = { LD_PRELOAD: library, SLOW_DISK: slowFile(), UV_THREADPOOL_SIZE: "2" };
  const writer = new OutputProcess([process.execPath, HANGING_FILES, folder], env);
  scene.onEnd(() => writer.remove());
  await writer.says("resolved");
}, 60_000);
