/** The example of TLS in deploy/nginx.conf, by a real nginx in front of the real service. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { HttpController } from "../../src/scrub/agent/controller.ts";
import { systemTimers } from "../../src/system/timers.ts";
import { Nginx } from "../fixtures/http/nginx.ts";
import { metricIn } from "../fixtures/metric-value.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

/** The secret of each token is its name; those of agents are bound to nodes of their names. */
const AGENTS = ["fra1", "ams1", "scrub1"];
const NOC = "noc";
const TOKENS = [
  `{name: ${NOC}, token_env: ${NOC}, role: operator}`,
  ...AGENTS.map((name) => `{name: ${name}, token_env: ${name}, role: agent, node: ${name}}`),
];
const SECRETS = Object.fromEntries([NOC, ...AGENTS].map((name) => [name, name]));
/** Of ams1 alone, so that its lever wakes no other node. */
const ZONES = `zones: [{name: www.example.net, hostgroup: web, origins: ["192.0.2.10:443"]}]\n`;

const skipped = Nginx.path === null ? " (skipped: nginx is not installed)" : "";
const testWithNginx = test.skipIf(skipped !== "");

const undo = new Undo();
let service: ServiceProcess;
let nginx: Nginx;

beforeAll(async () => {
  if (skipped !== "") return;
  const directory = undo.folder("tls");
  writeFileSync(join(directory, "zones.yaml"), ZONES);
  const config = `networks: [192.0.2.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
hostgroups: [{name: web, networks: [192.0.2.0/25]}]
edge: {zones_file: ${directory}/zones.yaml, nodes: [{name: fra1}, {name: ams1, hostgroups: [web]}]}
scrubbing: {nodes: [{name: scrub1}]}
`;
  service = await ServiceProcess.start({ config, api: `tokens: [${TOKENS.join()}]`, env: SECRETS, directory });
  undo.add(() => service.remove());
  nginx = await Nginx.start(service.port);
  undo.add(() => nginx.stop());
});
afterAll(() => undo.all());

/** Of the service itself: the value of a series, as `svc_api_holds{channel="zones"}`; NaN: there is none. */
async function metric(series: string): Promise<number> {
  return metricIn(await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text(), series);
}

function parked(channel: string): Promise<void> {
  return eventually(
    async () => (await metric(`svc_api_holds{channel="${channel}"}`)) === 1,
    `no poll of ${channel} is parked`,
  );
}

function pollZones(node: string, etag: string | null = null): Promise<Response> {
  const headers: Record<string, string> = etag === null ? {} : { "if-none-match": etag };
  return nginx.fetch(`/api/v1/edge/zones?node=${node}`, { token: node, headers });
}

testWithNginx(
  `answers come over TLS, with a token and not without; plain http is refused before the service${skipped}`,
  async () => {
    const answer = await nginx.fetch("/api/v1/status", { token: NOC });
    expect([answer.status, answer.headers.get("strict-transport-security")]).toEqual([200, "max-age=31536000"]);
    const refused = await nginx.fetch("/api/v1/status");
    expect([refused.status, await refused.json()]).toEqual([401, { error: "missing or invalid bearer token" }]);
    const headers = { authorization: `Bearer ${NOC}` };
    const plain = await fetch(`http://localhost:${nginx.port}/api/v1/hosts`, { headers, redirect: "manual" });
    expect([plain.status, await plain.text()]).toEqual([400, expect.stringContaining("sent to HTTPS port")]);
    expect(await metric(`svc_api_requests_total{route="hosts",method="GET",status="200"}`)).toBeNaN();
  },
);

testWithNginx(`polls of nodes that are parked live through the whole hold${skipped}`, async () => {
  const controller = new HttpController({
    url: new URL(nginx.base),
    node: "scrub1",
    token: () => "scrub1",
    authority: () => nginx.certificate.cert,
    timers: systemTimers,
  });
  const rules = await controller.poll(null);
  const etag = (await pollZones("fra1")).headers.get("etag");
  const polls = Promise.all([
    controller.poll(rules.kind === "document" ? rules.etag : "no document"),
    pollZones("fra1", etag),
  ]);
  await Promise.all([parked("rules"), parked("zones")]);
  const [unchanged, zones] = await polls;
  controller.close();
  expect(unchanged).toEqual({ kind: "unchanged" });
  expect([zones.status, zones.headers.get("etag")]).toEqual([304, etag]);
  for (const channel of ["rules", "zones"]) {
    expect(await metric(`svc_api_holds_ended_total{channel="${channel}",reason="expired"}`)).toBe(1);
  }
});

testWithNginx(`a change wakes a poll that is parked${skipped}`, async () => {
  const etag = (await pollZones("ams1")).headers.get("etag");
  const poll = pollZones("ams1", etag);
  await parked("zones");
  const order = { mode: "manual", ttl_seconds: 60, reason: "ticket 7" };
  expect((await service.post("/api/v1/edge/zones/www.example.net/challenge", order, NOC)).status).toBe(200);
  const answer = await poll;
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain("ticket 7");
});

testWithNginx(`events come while their stream is open${skipped}`, async () => {
  const leave = new AbortController();
  const stream = await nginx.fetch("/api/v1/events", { token: NOC, signal: leave.signal });
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  await service.post("/api/v1/ban", { ip: "192.0.2.7" }, NOC);
  let received = "";
  for await (const chunk of stream.body ?? []) {
    received += new TextDecoder().decode(chunk);
    if (received.includes("event: ban")) break;
  }
  leave.abort();
  expect(received).toContain(`"192.0.2.7`);
});

testWithNginx(`the dashboard comes whole, and metrics stay on the machine${skipped}`, async () => {
  const page = await nginx.fetch("/");
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  const assets = [...(await page.text()).matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(assets.length).toBeGreaterThan(0);
  for (const path of assets) expect((await nginx.fetch(path)).status).toBe(200);
  expect((await nginx.fetch("/healthz")).status).toBe(200);
  expect((await nginx.fetch("/metrics")).status).toBe(404);
});
