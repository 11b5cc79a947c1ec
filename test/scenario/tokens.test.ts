/** Tokens over the life of the service: secrets that rotate, entries that come and go, and what a tenant gets to see. */
import { expect, test } from "bun:test";
import { unlinkSync } from "node:fs";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const CONFIG = `networks: [192.0.2.0/24, 198.51.100.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
hostgroups:
  - {name: web, networks: [192.0.2.0/25], tenant: acme}
  - {name: mail, networks: [192.0.2.128/25], tenant: other}
edge: {nodes: [{name: fra1}, {name: ams1}]}
scrubbing: {nodes: [{name: scrub1}]}
`;
const NOC = "{name: noc, token_env: FW_NOC, role: operator}";
const ACME = "{name: acme, token_env: FW_ACME, role: operator, tenant: acme}";
const AGENT = "{name: node, token_env: FW_AGENT, role: agent}";

const scene = new Scenario();
const apiWith = (envFile: string, ...tokens: readonly string[]) => `env_file: ${envFile}, tokens: [${tokens.join()}]`;
const statuses = (service: ServiceProcess, ...secrets: readonly (string | undefined)[]) =>
  Promise.all(secrets.map(async (secret) => (await service.get("/api/v1/status", secret)).status));

test("secrets rotate with the env file, and entries come and go with a reload, which may name another env file", async () => {
  const secrets = scene.file("secrets.env", "FW_NOC=first\nFW_AGENT=node's\n");
  const service = await scene.start(CONFIG, { api: apiWith(secrets, NOC) });
  expect(await statuses(service, undefined, "first", "acme's")).toEqual([401, 200, 401]);
  scene.file("secrets.env", "FW_NOC=second\nFW_AGENT=node's\n");
  expect(await statuses(service, "first", "second")).toEqual([401, 200]);
  unlinkSync(secrets);
  expect(await statuses(service, "second")).toEqual([200]);
  await service.says("the env file cannot be used: variables stay as they were");
  expect(service.output).not.toContain("second");

  const other = scene.file("other.env", "FW_NOC=third\nFW_ACME=acme's\n");
  service.writeConfig(CONFIG, apiWith(other, NOC, ACME, AGENT));
  service.signal("SIGHUP");
  await eventually(async () => (await statuses(service, "acme's"))[0] === 200, "the reload was never applied");
  // What only the first file had is not set any more.
  expect(await statuses(service, "second", "third", "node's")).toEqual([401, 200, 401]);
  await service.says("node is an agent without node: it may act as every node");
  service.writeConfig(CONFIG, apiWith(other, NOC));
  expect((await service.post("/api/v1/config/reload", {}, "third")).status).toBe(200);
  expect(await statuses(service, "acme's", "third")).toEqual([401, 200]);
  scene.file("other.env", "# no secrets\n");
  expect(await statuses(service, "third", undefined)).toEqual([401, 401]);
  unlinkSync(service.configPath);
  service.signal("SIGHUP");
  await service.says("cannot be read");
  expect((await fetch(`http://127.0.0.1:${service.port}/healthz`)).status).toBe(200);
});

test("a tenant's status has its own groups and counts, and nothing of the house", async () => {
  const secrets = scene.file("secrets.env", "FW_NOC=noc's\nFW_ACME=acme's\n");
  // What no hostgroup takes is its own too, and yet the row of the implicit group is not shown to it.
  const service = await scene.start(`tenant: acme\n${CONFIG}`, { api: apiWith(secrets, NOC, ACME) });
  const ban = async (ip: string, secret: string) => (await service.post("/api/v1/ban", { ip }, secret)).status;
  for (const ip of ["192.0.2.1", "192.0.2.2", "192.0.2.129", "198.51.100.1"]) expect(await ban(ip, "noc's")).toBe(200);
  expect([await ban("192.0.2.129", "acme's"), await ban("192.0.2.3", "acme's")]).toEqual([403, 200]);
  expect((await service.get("/api/v1/status", "acme's")).body).toEqual({
    dry_run: true,
    uptime_seconds: expect.any(Number) as number,
    version: expect.any(String) as string,
    update_available: false,
    role: "operator",
    unscoped: false,
    active_attacks: 0,
    active_bans: 4,
    hostgroups: [{ name: "web", calculation: "per_host", mitigation: "blackhole", ban: true }],
    nodes_total: 1,
    edge_nodes_total: 2,
  });
  const whole = await service.get<{ hostgroups: { name: string }[] }>("/api/v1/status", "noc's");
  expect(whole.body.hostgroups.map(({ name }) => name)).toEqual(["global", "web", "mail"]);
  expect(whole.body).toMatchObject({ active_bans: 5, unscoped: true, nodes_total: 1, edge_nodes_total: 2 });
});
