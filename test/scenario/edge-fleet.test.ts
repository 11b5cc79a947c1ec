/** The real service, an edge node's reports, and a database on disk: what is known of the fleet outlives a kill. */
import { expect, test } from "bun:test";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const ZONES = "zones: [{name: shop.example, origins: ['192.0.2.1:443']}]\n";
const API = "tokens: [{name: n1, token_env: N1, role: agent, node: e1}, {name: noc, token_env: NOC, role: operator}]";
const ENV = { N1: "secret-n1", NOC: "secret-noc" };
const SHOP = "/api/v1/edge/history?zone=shop.example";

const scene = new Scenario();

function start(): Promise<ServiceProcess> {
  const config = `networks: [192.0.2.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
edge: {zones_file: ${scene.directory}/zones.yaml, nodes: [{name: e1}]}
`;
  return scene.start(config, { api: API, env: ENV });
}

type Rows<Name extends string> = Record<Name, Record<string, unknown>[]>;
const points = async (of: ServiceProcess) => (await of.get<Rows<"points">>(SHOP, ENV.NOC)).body.points;
const versions = async (of: ServiceProcess) => {
  const { events } = (await of.get<Rows<"events">>("/api/v1/edge/events", ENV.NOC)).body;
  return events.filter(({ kind }) => kind === "version").length;
};
const document = async (of: ServiceProcess) => {
  const headers = { authorization: `Bearer ${ENV.N1}` };
  const answer = await fetch(`http://127.0.0.1:${of.port}/api/v1/edge/zones?node=e1`, { headers });
  return [answer.headers.get("etag"), await answer.json()] as const;
};

test("windows, events, levers and keys outlive a kill, what is sent again counts once, and a reload gives other zones", async () => {
  scene.file("zones.yaml", ZONES);
  const first = await start();
  const at = new Date(Date.now() - 5000).toISOString();
  const send = async (to: ServiceProcess, version: string) => {
    const zone = { zone: "shop.example", challenge: "off", at, window_seconds: 10, rps: 12.5, requests: 125 };
    const body = JSON.stringify({ version, zones: [zone] });
    const headers = { authorization: `Bearer ${ENV.N1}`, "content-type": "application/json" };
    const url = `http://127.0.0.1:${to.port}/api/v1/edge/nodes/e1/report`;
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(204);
  };
  const order = { mode: "manual", ttl_seconds: 600, reason: "ticket 7" };
  const lever = await first.post("/api/v1/edge/zones/shop.example/challenge", order, ENV.NOC);
  expect(lever.status).toBe(200);
  const before = await document(first);
  const override = { mode: "manual", until: lever.body["until"], reason: "ticket 7" };
  expect(before[1]).toMatchObject({ zones: [{ challenge_override: override }] });
  await send(first, "1");
  await send(first, "2");
  await eventually(async () => (await versions(first)) === 1, "the change was not recorded");
  await eventually(async () => (await points(first)).length === 1, "the window was not recorded");
  await first.stop("SIGKILL");

  const second = await start();
  await eventually(async () => (await points(second)).length === 1, "the history was not opened again");
  await send(second, "3");
  await send(second, "4");
  // The first report after the start is silent: from 3 to 4 alone is new.
  await eventually(async () => (await versions(second)) === 2, "the second change was not recorded");
  expect(await points(second)).toMatchObject([{ nodes: 1, window_seconds: 10, requests: 125 }]);
  // With the lever and the clearance keys of before.
  expect(await document(second)).toEqual(before);
  scene.file("zones.yaml", ZONES.replace("shop", "store"));
  second.signal("SIGHUP");
  await eventually(async () => (await second.get(SHOP, ENV.NOC)).status === 404, "the zones were not taken over");
  expect(await second.stop()).toBe(0);
});
