/** Tokens over the life of the service: secrets that rotate, entries that come and go, and what a tenant gets to see. */
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const CONFIG = `networks: [192.0.2.0/24, 198.51.100.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
hostgroups:
  - {name: web, networks: [192.0.2.0/25], tenant: acme}
  - {name: mail, networks: [192.0.2.128/25], tenant: other}
edge: {nodes: [{name: fra1}, {name: ams1}]}
scrubbing: {nodes: [{name: scrub1}]}
`;
const NOC = "{name: noc, token_env: FLOODWALL_TEST_NOC, role: operator}";
const ACME = "{name: acme, token_env: FLOODWALL_TEST_ACME, role: operator, tenant: acme}";
const AGENT = "{name: node, token_env: FLOODWALL_TEST_AGENT, role: agent}";

let directory: string;
let service: ServiceProcess | null = null;

afterEach(async () => {
  await service?.remove();
  rmSync(directory, { recursive: true, force: true });
});

async function start(
  tokens: readonly string[],
  env: Readonly<Record<string, string>> = {},
  config = CONFIG,
): Promise<ServiceProcess> {
  directory = mkdtempSync(join(tmpdir(), `floodwall-tokens-${process.pid}-`));
  writeFileSync(envFile(), "FLOODWALL_TEST_NOC=first\n");
  service = await ServiceProcess.start({ config, api: apiWith(tokens), env });
  return service;
}

function envFile(): string {
  return join(directory, "secrets.env");
}

function apiWith(tokens: readonly string[]): string {
  return `env_file: ${envFile()}, tokens: [${tokens.join()}]`;
}

function replaceSecrets(text: string): void {
  writeFileSync(`${envFile()}.new`, text);
  renameSync(`${envFile()}.new`, envFile());
}

async function statusOf(running: ServiceProcess, secret?: string): Promise<number> {
  return (await running.get("/api/v1/status", secret)).status;
}

test("a secret in the env file rotates with the next request, and closes the API when it goes", async () => {
  const running = await start([NOC]);
  expect([await statusOf(running), await statusOf(running, "first")]).toEqual([401, 200]);
  replaceSecrets("FLOODWALL_TEST_NOC=second\n");
  expect([await statusOf(running, "first"), await statusOf(running, "second")]).toEqual([401, 200]);
  replaceSecrets("FLOODWALL_TEST_NOC\n");
  expect(await statusOf(running, "second")).toBe(200);
  unlinkSync(envFile());
  expect(await statusOf(running, "second")).toBe(200);
  writeFileSync(envFile(), "# no secrets\n");
  expect([await statusOf(running, "second"), await statusOf(running)]).toEqual([401, 401]);
  await running.says("the env file cannot be used: variables stay as they were");
  expect(running.output).not.toContain("second");
});

test("entries come and go with a reload, by signal or by command", async () => {
  const running = await start([NOC], { FLOODWALL_TEST_ACME: "acme's", FLOODWALL_TEST_AGENT: "node's" });
  expect(await statusOf(running, "acme's")).toBe(401);
  running.writeConfig(CONFIG, apiWith([NOC, ACME, AGENT]));
  running.signal("SIGHUP");
  await eventually(async () => (await statusOf(running, "acme's")) === 200, "the reload was never applied");
  expect(await statusOf(running, "node's")).toBe(403);
  await running.says("node is an agent without node: it may act as every node");

  running.writeConfig(CONFIG, apiWith([NOC]));
  expect(await running.post("/api/v1/config/reload", {}, "acme's")).toEqual({
    status: 403,
    body: { error: "restricted to unscoped tokens" },
  });
  expect(await running.post("/api/v1/config/reload", {}, "first")).toEqual({
    status: 200,
    body: {
      reloaded: true,
      dry_run: true,
      thresholds: { pps: 100_000, mbps: 1000, flows_per_sec: 20_000 },
      needs_restart: [],
    },
  });
  expect(await statusOf(running, "acme's")).toBe(401);
});

test("a reload follows another env file, and unsets what only the first one had", async () => {
  const running = await start([NOC, ACME]);
  const other = join(directory, "other.env");
  writeFileSync(other, "FLOODWALL_TEST_ACME=acme's\n");
  running.writeConfig(CONFIG, apiWith([NOC, ACME]).replace(envFile(), other));
  expect((await running.post("/api/v1/config/reload", {}, "first")).status).toBe(200);
  expect([await statusOf(running, "first"), await statusOf(running, "acme's")]).toEqual([401, 200]);
});

test("a reload of a file that is not valid is 400 with the error, and changes nothing", async () => {
  const running = await start([NOC]);
  running.writeConfig("networks: [192.0.2.1/24]\n", apiWith([AGENT]));
  const { status, body } = await running.post<{ error: string }>("/api/v1/config/reload", {}, "first");
  expect(status).toBe(400);
  expect(body.error).toContain("networks[0]: 192.0.2.1/24 has host bits set: write 192.0.2.0/24");
  expect(body.error).toContain("thresholds: is required");
  expect((await running.get("/api/v1/status", "first")).body).toMatchObject({
    networks: ["192.0.2.0/24", "198.51.100.0/24"],
  });
});

test("a tenant's status has its own groups and counts, and nothing of the house", async () => {
  // What no hostgroup takes is its own too, and yet the row of the implicit group is not shown to it.
  const running = await start([NOC, ACME], { FLOODWALL_TEST_ACME: "acme's" }, `tenant: acme\n${CONFIG}`);
  for (const ip of ["192.0.2.1", "192.0.2.2", "192.0.2.129", "198.51.100.1"]) {
    expect((await running.post("/api/v1/ban", { ip }, "first")).status).toBe(200);
  }
  expect((await running.post("/api/v1/ban", { ip: "192.0.2.129" }, "acme's")).status).toBe(403);
  expect((await running.post("/api/v1/ban", { ip: "192.0.2.3" }, "acme's")).status).toBe(200);
  const { body } = await running.get("/api/v1/status", "acme's");
  expect(body).toEqual({
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
  const whole = await running.get<{ hostgroups: { name: string }[] }>("/api/v1/status", "first");
  expect(whole.body.hostgroups.map(({ name }) => name)).toEqual(["global", "web", "mail"]);
  expect(whole.body).toMatchObject({ active_bans: 5, unscoped: true, nodes_total: 1, edge_nodes_total: 2 });
});
