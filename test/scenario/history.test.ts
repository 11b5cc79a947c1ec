/** The history of the running service: over a restart, without a store, and with one that is broken. */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";
import { ClickhouseServer, clickhouseServer } from "../fixtures/storage/clickhouse.ts";

const VICTIM = "203.0.113.7";
const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }
ban: { unban_hysteresis_seconds: 1 }
`;

interface Attacks {
  readonly active: object[];
  readonly recent: {
    readonly id: string;
    readonly target: string;
    readonly sample?: object;
    readonly reason?: object;
  }[];
}
interface Traffic {
  readonly available: boolean;
  readonly points: { readonly pps: number; readonly in_attack: boolean }[];
}
interface Audit {
  readonly available: boolean;
  readonly events: {
    readonly action: string;
    readonly target: string;
    readonly result: string;
    readonly source: string;
  }[];
}

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-history-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function started(directory: string, config: string): Promise<ServiceProcess> {
  const service = await ServiceProcess.start({ config, directory });
  undo.push(() => service.remove());
  return service;
}

/** Three seconds of 5,000 packets a second, then three with one every 100 ms. */
function capture(): Uint8Array {
  const packet = ethernet(ip({ src: "198.51.100.9", dst: VICTIM }, udp({ payload: new Uint8Array(100) })));
  const flood = evenly(new Array(15_000).fill(packet), { stepMs: 0.2 });
  const calm = evenly(new Array(30).fill(packet), { startMs: 1_700_000_003_000, stepMs: 100 });
  return pcapBytes([...flood, ...calm]);
}

async function attackAndRestart(directory: string, storage: string): Promise<void> {
  const path = join(directory, "capture.pcap");
  writeFileSync(path, capture());
  const replaying = `${CONFIG}${storage}capture: { pcap_file: ${path} }\n`;
  const first = await started(directory, replaying);
  const attacks = async (service: ServiceProcess) => (await service.get<Attacks>("/api/v1/attacks")).body;
  await eventually(async () => (await attacks(first)).recent.length === 1, "the attack did not end", 30_000);
  const traffic = `/api/v1/traffic?key=${VICTIM}&step=1`;
  await eventually(async () => {
    const { points } = (await first.get<Traffic>(traffic)).body;
    return points.some(({ pps, in_attack: inAttack }) => inAttack && pps > 1000);
  }, "the flood is not in the traffic history");
  const ended = (await attacks(first)).recent;
  const { points } = (await first.get<Traffic>(traffic)).body;
  expect(await first.stop()).toBe(0);

  const second = await started(directory, `${CONFIG}${storage}`);
  await eventually(async () => (await attacks(second)).recent.length === 1, "the attack did not come back");
  const { active, recent } = await attacks(second);
  expect(active).toEqual([]);
  expect(recent[0]).toMatchObject({ id: ended[0]?.id ?? "", target: VICTIM });
  expect(recent[0]?.sample).toEqual(ended[0]?.sample as object);
  expect(recent[0]?.sample).toBeDefined();
  expect(recent[0]?.reason).toEqual(ended[0]?.reason as object);
  const after = (await second.get<Traffic>(traffic)).body.points;
  expect(after.slice(0, points.length)).toEqual(points);
  const automatic = (await second.get<Audit>("/api/v1/audit?action=ban")).body.events;
  expect(automatic).toMatchObject([{ target: VICTIM, source: "auto" }]);
}

describe("attacks, traffic and audit come back after a restart", () => {
  test("from SQLite", () => attackAndRestart(folder(), "storage: { traffic_interval_seconds: 1 }\n"));

  const skipped = clickhouseServer === null ? " (skipped: clickhouse-server is not installed)" : "";
  test.skipIf(clickhouseServer === null)(`from ClickHouse${skipped}`, async () => {
    const server = await ClickhouseServer.start();
    undo.push(() => server.remove());
    const section = `{ driver: clickhouse, clickhouse: { url: "${server.url}" }, traffic_interval_seconds: 1 }`;
    await attackAndRestart(folder(), `storage: ${section}\n`);
  });
});

test("an audit row that was acknowledged is there after kill -9", async () => {
  const directory = folder();
  const first = await started(directory, CONFIG);
  expect((await first.post("/api/v1/ban", { ip: VICTIM })).status).toBe(200);
  await first.stop("SIGKILL");
  const second = await started(directory, CONFIG);
  await eventually(async () => (await second.get<Audit>("/api/v1/audit")).status === 200, "the history did not open");
  const { available, events } = (await second.get<Audit>("/api/v1/audit")).body;
  expect(available).toBe(true);
  expect(events).toMatchObject([{ action: "ban", target: VICTIM, result: "active", source: "api" }]);
});

test("a broken file costs the history and nothing else", async () => {
  const directory = folder();
  mkdirSync(join(directory, "state"));
  const noise = "these are not the pages you are looking for ".repeat(200);
  for (const name of ["history.sqlite", "history-audit.sqlite"]) writeFileSync(join(directory, "state", name), noise);
  const service = await started(directory, CONFIG);
  expect((await service.post("/api/v1/ban", { ip: VICTIM })).status).toBe(200);
  expect((await service.post("/api/v1/unban", { ip: VICTIM })).status).toBe(200);
  for (const path of ["/api/v1/audit", `/api/v1/traffic?key=${VICTIM}`])
    expect((await service.get(path)).status).toBe(502);
  await service.says("the history cannot be opened: the service continues without it");
  await service.says("the file is corrupt, move it aside and restart");
  const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
  expect(metrics).toContain("svc_storage_up 0");
  expect(metrics).toMatch(/svc_storage_open_failures_total [1-9]/);
  expect(metrics).toContain("svc_storage_audit_late_total 2");
  expect(await service.stop()).toBe(0);
  expect(readFileSync(join(directory, "state", "history.sqlite"), "utf8")).toBe(noise);
});

test("with storage off nothing is kept, and that is no fault", async () => {
  const directory = folder();
  const service = await started(directory, `${CONFIG}storage: { driver: none }\n`);
  expect((await service.post("/api/v1/ban", { ip: VICTIM })).status).toBe(200);
  expect(await service.get("/api/v1/audit")).toEqual({ status: 200, body: { available: false, events: [] } });
  const { status, body } = await service.get<Traffic>(`/api/v1/traffic?key=${VICTIM}`);
  expect([status, body.available, body.points]).toEqual([200, false, []]);
});
