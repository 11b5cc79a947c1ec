/** The edge channel of the real service: what survives kill -9, what a reload brings to parked polls, and what refuses a start. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bearer } from "../fixtures/http/callers.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const ENV = { OPS: "ops-secret", E1: "e1-secret" };
const API = `tokens: [
  { name: ops, token_env: OPS, role: operator },
  { name: e1, token_env: E1, role: agent, node: e1 }]`;
const LEVER = "/api/v1/edge/zones/www.example.net/challenge";

let directory: string;
let service: ServiceProcess | null;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-levers-${process.pid}-`));
  service = null;
});
afterEach(async () => {
  await service?.remove();
  rmSync(directory, { recursive: true, force: true });
});

const config = () => `
networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
edge: { zones_file: ${directory}/zones.yaml, nodes: [{ name: e1 }] }
`;

function writeZones(...names: readonly string[]): void {
  const zones = names.map((name) => ({ name, origins: ["192.0.2.1:443"] }));
  writeFileSync(join(directory, "zones.yaml"), JSON.stringify({ zones }));
}

async function start(): Promise<ServiceProcess> {
  service = await ServiceProcess.start({ config: config(), api: API, env: ENV, directory });
  return service;
}

function poll({ port }: ServiceProcess, etag?: string): Promise<Response> {
  const headers = { ...bearer(ENV.E1), ...(etag === undefined ? {} : { "if-none-match": etag }) };
  return fetch(`http://127.0.0.1:${port}/api/v1/edge/zones?node=e1`, { headers });
}

interface ZoneJson {
  readonly name: string;
  readonly challenge_override?: object;
  readonly clearance_keys: readonly object[];
}

async function zonesOf(answer: Promise<Response> | Response): Promise<readonly ZoneJson[]> {
  return ((await (await answer).json()) as { zones: ZoneJson[] }).zones;
}

async function parked(running: ServiceProcess): Promise<{ readonly answer: Promise<Response> }> {
  const answer = poll(running, (await poll(running)).headers.get("etag") ?? "");
  await eventually(async () => {
    const text = await (await fetch(`http://127.0.0.1:${running.port}/metrics`)).text();
    return text.includes('svc_api_holds{channel="zones"} 1\n');
  }, "the poll was not parked");
  return { answer };
}

test("a lever that was answered is in force after kill -9, with the same until and the same keys", async () => {
  writeZones("www.example.net");
  const first = await start();
  const order = { mode: "manual", ttl_seconds: 600, reason: "ticket 7" };
  const { status, body } = await first.post(LEVER, order, ENV.OPS);
  expect([status, body["mode"]]).toEqual([200, "manual"]);
  const before = await poll(first);
  await first.stop("SIGKILL");
  const second = await start();
  const after = await poll(second);
  expect(after.headers.get("etag")).toBe(before.headers.get("etag"));
  expect(await zonesOf(after)).toMatchObject([
    { challenge_override: { mode: "manual", until: body["until"], reason: "ticket 7" } },
  ]);
  const masters = statSync(join(directory, "state/clearance-masters"));
  expect(masters.mode & 0o777).toBe(0o600);
  await second.post(LEVER, { mode: "off" }, ENV.OPS);
  await second.stop("SIGKILL");
  expect(await zonesOf(poll(await start()))).toEqual([
    expect.not.objectContaining({ challenge_override: expect.anything() }),
  ]);
});

test("a reload of the zones file wakes a parked poll; a broken one leaves it parked and the zones as they were", async () => {
  writeZones("www.example.net");
  const running = await start();
  const { answer } = await parked(running);
  const reload = () => running.post("/api/v1/config/reload", {}, ENV.OPS);
  writeFileSync(join(directory, "zones.yaml"), "zones: [{name: 7}]");
  expect((await reload()).status).toBe(400);
  expect((await zonesOf(poll(running))).map(({ name }) => name)).toEqual(["www.example.net"]);
  writeZones("www.example.net", "shop.example.net");
  expect((await reload()).status).toBe(200);
  expect((await zonesOf(await answer)).map(({ name }) => name)).toEqual(["shop.example.net", "www.example.net"]);
});

test("a clearance file that this build does not know refuses the start, and says what to do", async () => {
  writeZones("www.example.net");
  const running = await start();
  await running.stop();
  const path = join(directory, "state/clearance-masters");
  writeFileSync(path, `another form\n${readFileSync(path, "latin1")}`);
  service = await ServiceProcess.spawn({ config: config(), api: API, env: ENV, directory });
  expect(await service.ended()).toBe(1);
  expect(service.output).toContain(`floodwall: ${path} has a format that this build does not know: move it aside`);
});
