/** Thresholds, method and never-banned addresses of a hostgroup, set over the configuration of a running service. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { settingsPath } from "../../src/config/group-settings.ts";
import { ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

const CONFIG = `
dry_run: true
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
include: customers/*.yaml
`;
const SECRETS = { NOC: "noc-secret-0123456789", ACME: "acme-secret-0123456789" };
const TOKENS =
  "tokens: [{ name: noc, token_env: NOC, role: operator }, { name: acme, token_env: ACME, role: operator, tenant: acme }]";

const undo = new Undo();
let service: ServiceProcess;

beforeAll(async () => {
  service = await ServiceProcess.start({ config: CONFIG.replace(/include.*/, ""), api: TOKENS, env: SECRETS });
  undo.add(() => service.remove());
  const customers = join(dirname(service.configPath), "customers");
  mkdirSync(customers);
  writeFileSync(
    join(customers, "acme.yaml"),
    "name: acme\ntenant: acme\nnetworks: [203.0.113.16/28]\nthresholds: { pps: 7 }\n",
  );
  service.writeConfig(CONFIG);
  await reload();
});
afterAll(() => undo.all());
beforeEach(async () => {
  await call("DELETE", PATH, {});
});

async function call(method: string, path: string, body?: object, secret = SECRETS.NOC) {
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/${path}`, init);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const reload = () => call("POST", "config/reload", {});
const PATH = "hostgroups/acme/settings";

interface GroupRow {
  readonly name: string;
  readonly thresholds: { readonly pps: number };
  readonly mitigation: string;
  readonly settings?: object;
}

async function group(secret = SECRETS.NOC): Promise<GroupRow> {
  const { body } = await call("GET", "config", undefined, secret);
  const found = (body as { hostgroups: GroupRow[] }).hostgroups.find(({ name }) => name === "acme");
  if (found === undefined) throw new Error("there is no group acme");
  return found;
}

test("an administrator sets them, a reload keeps them, and they are taken back #hostgroup-settings", async () => {
  const order = {
    thresholds: { pps: 9 },
    mitigation: "flowspec",
    protected_whitelist: ["203.0.113.17"],
    reason: "ticket 7",
  };
  const set = await call("PUT", PATH, order);
  expect(set).toMatchObject({
    status: 200,
    body: { hostgroup: "acme", settings: { thresholds: { pps: 9 }, by: "noc" } },
  });
  expect(set.body["changes"]).toContain("hostgroups: acme: thresholds.pps: 7 → 9");
  await reload();
  expect(await group()).toMatchObject({ thresholds: { pps: 9 }, mitigation: "flowspec", settings: { by: "noc" } });
  expect(await group(SECRETS.ACME)).not.toHaveProperty("settings");
  expect((await call("POST", "ban", { ip: "203.0.113.17" })).body).toMatchObject({ reason: "whitelisted" });
  const cleared = await call("DELETE", PATH, {});
  expect(cleared.body["changes"]).toContain("hostgroups: acme: thresholds.pps: 9 → 7");
  expect(await group()).toMatchObject({ thresholds: { pps: 7 }, mitigation: "blackhole" });
  expect(await call("DELETE", PATH, {})).toMatchObject({ status: 404 });
  const rows = (await call("GET", "audit?action=hostgroup_settings")).body["events"] as {
    reason: string;
    result: string;
  }[];
  expect(rows.slice(0, 3).map(({ result }) => result)).toEqual(["rejected", "cleared", "set"]);
  expect(rows[2]).toMatchObject({
    target: "acme",
    reason: expect.stringMatching(/thresholds\.pps: 7 → 9.*: ticket 7$/),
  });
});

test.each([
  ["PUT", "hostgroups/nowhere/settings", { thresholds: { pps: 9 } }, SECRETS.NOC, 404],
  ["PUT", PATH, { thresholds: { pps: 9 } }, SECRETS.ACME, 403],
  ["PUT", PATH, { thresholds: { pps: 0 } }, SECRETS.NOC, 400],
  ["PUT", PATH, { protected_whitelist: ["203.0.113.99"] }, SECRETS.NOC, 400],
  ["PUT", PATH, { tenant: "mine" }, SECRETS.NOC, 400],
  ["PUT", PATH, { mitigation: "scrub" }, SECRETS.NOC, 400],
] as const)("%s %s of %j is refused, and nothing is set", async (method, path, body, secret, status) => {
  expect((await call(method, path, body, secret)).status).toBe(status);
  expect(await group()).not.toHaveProperty("settings");
  expect((await reload()).status).toBe(200);
});

test("a reload is refused while an included file has an error, and says what it changes #reload-of-parts", async () => {
  const file = join(dirname(service.configPath), "customers/acme.yaml");
  const before = readFileSync(file, "utf8");
  writeFileSync(file, before.replace("pps: 7", "pps: many"));
  expect(await reload()).toMatchObject({
    status: 400,
    body: { error: expect.stringMatching(/acme\.yaml:4: thresholds\.pps/) },
  });
  writeFileSync(file, before.replace("pps: 7", "pps: 8"));
  expect((await reload()).status).toBe(200);
  const { body } = await call("GET", "audit?action=config_reload&result=ok");
  const [row] = body["events"] as { reason: string }[];
  expect(row?.reason).toBe("changed: hostgroups; hostgroups: acme: thresholds.pps: 7 → 8");
  writeFileSync(file, before);
  expect((await reload()).status).toBe(200);
  expect(settingsPath(null)).toBe("/var/lib/floodwall/hostgroup-settings.json");
});
