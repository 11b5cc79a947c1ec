/** The real service, an edge node's reports, and a database on disk: what is told of the fleet outlives the process where it must. */
import { expect, test } from "bun:test";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const ZONES = "zones: [{name: shop.example, origins: ['192.0.2.1:443'], tenant: acme}]\n";
const API =
  "tokens: [{name: n1, token_env: N1, role: agent, node: e1}, {name: noc, token_env: NOC, role: operator}, " +
  "{name: acme, token_env: ACME, role: viewer, tenant: acme}]";
const ENV = { N1: "secret-n1", NOC: "secret-noc", ACME: "secret-acme" };
const SHOP = "/api/v1/edge/history?zone=shop.example";
const LEVER = "/api/v1/edge/zones/shop.example/challenge";

const scene = new Scenario();

function start(): Promise<ServiceProcess> {
  const config = `networks: [192.0.2.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
edge: {zones_file: ${scene.directory}/zones.yaml, nodes: [{name: e1}, {name: e2}]}
`;
  return scene.start(config, { api: API, env: ENV });
}

function reportOf(atMs: number, version: string): object {
  const source = { source: "203.0.113.7", state: "would-deny", requests: 40 };
  const window = { at: new Date(atMs).toISOString(), window_seconds: 10, rps: 12.5, requests: 125, would_deny: 40 };
  return { version, zones: [{ zone: "shop.example", challenge: "off", ...window, top_sources: [source] }] };
}

type Rows<Name extends string> = Record<Name, Record<string, unknown>[]>;
const points = async (of: ServiceProcess) => (await of.get<Rows<"points">>(SHOP, ENV.NOC)).body.points;
const kinds = async (of: ServiceProcess) =>
  (await of.get<Rows<"events">>("/api/v1/edge/events", ENV.NOC)).body.events.map(({ kind }) => kind);
const zones = async (of: ServiceProcess) =>
  (await of.get<Rows<"zones">>("/api/v1/edge/zones/status", ENV.NOC)).body.zones;
const document = async (of: ServiceProcess) => {
  const headers = { authorization: `Bearer ${ENV.N1}` };
  const answer = await fetch(`http://127.0.0.1:${of.port}/api/v1/edge/zones?node=e1`, { headers });
  return [answer.headers.get("etag"), await answer.json()] as const;
};

test("windows, events and levers outlive a kill, what is sent again counts once, and a reload gives other zones", async () => {
  scene.file("zones.yaml", ZONES);
  const first = await start();
  const atMs = Date.now() - 5000;
  const send = async (to: ServiceProcess, version: string) => {
    const body = JSON.stringify(reportOf(atMs, version));
    const headers = { authorization: `Bearer ${ENV.N1}`, "content-type": "application/json" };
    const url = `http://127.0.0.1:${to.port}/api/v1/edge/nodes/e1/report`;
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(204);
  };
  const lever = await first.post(LEVER, { mode: "manual", ttl_seconds: 600, reason: "ticket 7" }, ENV.NOC);
  expect(lever.status).toBe(200);
  const before = await document(first);
  const override = { mode: "manual", until: lever.body["until"], reason: "ticket 7" };
  expect(before[1]).toMatchObject({ zones: [{ challenge_override: override }] });
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
  const versions = async () => (await kinds(second)).filter((kind) => kind === "version");
  // The first report after the start is silent: from 3 to 4 alone is new.
  await eventually(async () => (await versions()).length === 2, "the second change was not recorded");
  expect(await points(second)).toMatchObject([{ nodes: 1, window_seconds: 10, requests: 125, would_deny: 40 }]);
  const inventory = await second.get<Rows<"nodes">>("/api/v1/edge/nodes", ENV.NOC);
  expect(inventory.body.nodes).toMatchObject([{ name: "e1", alive: false, report: { version: "4" } }, { name: "e2" }]);
  // With the lever and the clearance keys of before.
  expect(await document(second)).toEqual(before);

  expect(await zones(second)).toMatchObject([{ zone: "shop.example" }]);
  scene.file("zones.yaml", ZONES.replace("shop", "store"));
  second.signal("SIGHUP");
  // The lever stays beside the zone that the file has no more.
  const names = async () => (await zones(second)).map(({ zone }) => zone).join();
  await eventually(async () => (await names()) === "shop.example,store.example", "the zones were not taken over");
  expect((await second.get(SHOP, ENV.ACME)).status).toBe(403);
  expect((await second.get(SHOP, ENV.NOC)).status).toBe(404);
  expect(await second.stop()).toBe(0);
});
