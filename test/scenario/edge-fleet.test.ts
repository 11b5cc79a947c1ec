/** The real service, an edge node's reports, and a database on disk: what is told of the fleet outlives the process where it must. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const ZONES = "zones: [{name: shop.example, origins: ['192.0.2.1:443'], tenant: acme}]\n";
const API =
  "tokens: [{name: n1, token_env: N1, role: agent, node: e1}, {name: eyes, token_env: EYES, role: viewer}, " +
  "{name: acme, token_env: ACME, role: viewer, tenant: acme}]";
const ENV = { N1: "secret-n1", EYES: "secret-eyes", ACME: "secret-acme" };
const SHOP = "/api/v1/edge/history?zone=shop.example";

let directory: string;
let service: ServiceProcess | null = null;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-edge-${process.pid}-`));
  writeFileSync(join(directory, "zones.yaml"), ZONES);
});
afterEach(async () => {
  await service?.remove();
  rmSync(directory, { recursive: true, force: true });
});

async function start(): Promise<ServiceProcess> {
  const config = `networks: [192.0.2.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
edge: {zones_file: ${directory}/zones.yaml, nodes: [{name: e1}, {name: e2}]}
`;
  service = await ServiceProcess.start({ config, api: API, env: ENV, directory });
  return service;
}

function reportOf(atMs: number, version: string): object {
  const source = { source: "203.0.113.7", state: "would-deny", requests: 40 };
  const window = { at: new Date(atMs).toISOString(), window_seconds: 10, rps: 12.5, requests: 125, would_deny: 40 };
  return { version, zones: [{ zone: "shop.example", challenge: "off", ...window, top_sources: [source] }] };
}

const points = async (of: ServiceProcess) =>
  (await of.get<{ points: Record<string, unknown>[] }>(SHOP, ENV.EYES)).body.points;
const kinds = async (of: ServiceProcess) =>
  (await of.get<{ events: { kind: string }[] }>("/api/v1/edge/events", ENV.EYES)).body.events.map(({ kind }) => kind);

test("windows and events of a node outlive a kill, and what is sent again counts once", async () => {
  const first = await start();
  const atMs = Date.now() - 5000;
  const path = "/api/v1/edge/nodes/e1/report";
  await first.get("/api/v1/edge/zones?node=e1", ENV.N1);
  const send = async (to: ServiceProcess, version: string) => {
    const body = JSON.stringify(reportOf(atMs, version));
    const headers = { authorization: `Bearer ${ENV.N1}`, "content-type": "application/json" };
    const answer = await fetch(`http://127.0.0.1:${to.port}${path}`, { method: "POST", headers, body });
    expect(answer.status).toBe(204);
  };
  await send(first, "1");
  await send(first, "2");
  const status = await first.get<{ nodes_alive: number; zones: object[] }>("/api/v1/edge/zones/status", ENV.ACME);
  expect(status.body).toMatchObject({
    nodes_alive: 1,
    zones: [{ zone: "shop.example", nodes: 1, rps: 12.5, would_be: [{ source: "203.0.113.7", nodes: ["e1"] }] }],
  });
  await eventually(async () => (await kinds(first)).includes("version"), "the change was not recorded");
  await eventually(async () => (await points(first)).length === 1, "the window was not recorded");
  await first.stop("SIGKILL");

  const second = await start();
  await eventually(async () => (await points(second)).length === 1, "the history was not opened again");
  await send(second, "3");
  await send(second, "4");
  await eventually(async () => (await kinds(second)).length === 2, "the second change was not recorded");
  // The first report after the start is silent: from 3 to 4 alone is new.
  expect(await kinds(second)).toEqual(["version", "version"]);
  expect(await points(second)).toMatchObject([{ nodes: 1, window_seconds: 10, requests: 125, would_deny: 40 }]);
  const inventory = await second.get<{ nodes: Record<string, unknown>[] }>("/api/v1/edge/nodes", ENV.EYES);
  expect(inventory.body.nodes).toMatchObject([{ name: "e1", alive: false, report: { version: "4" } }, { name: "e2" }]);
  expect(await second.stop()).toBe(0);
});

test("a reload takes zones from the status and gives others", async () => {
  const running = await start();
  const names = async () =>
    (await running.get<{ zones: { zone: string }[] }>("/api/v1/edge/zones/status", ENV.EYES)).body.zones.map(
      ({ zone }) => zone,
    );
  expect(await names()).toEqual(["shop.example"]);
  writeFileSync(join(directory, "zones.yaml"), ZONES.replace("shop", "store"));
  running.signal("SIGHUP");
  await eventually(async () => (await names())[0] === "store.example", "the zones were not taken over");
  expect((await running.get(SHOP, ENV.ACME)).status).toBe(403);
  expect((await running.get(SHOP, ENV.EYES)).status).toBe(404);
});
