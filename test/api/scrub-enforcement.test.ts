/** What a service does with a scrub node that does not enforce the rules it gets: the polls and reports of two nodes. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { TokenConfig } from "../../src/access/token-config.ts";
import type { BansWire, BanWire } from "../../src/http/wire/ban.ts";
import { etagOf } from "../../src/nodes/polled-document.ts";
import { agent } from "../fixtures/http/node-channel.ts";
import { ManualClock } from "../fixtures/manual-clock.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { ServiceInProcess } from "../fixtures/service-in-process.ts";

const CONFIG = `
dry_run: false
networks: [203.0.113.0/24, 192.0.2.0/24]
thresholds: { pps: 1000000, mbps: 1000, flows_per_sec: 100000 }
mitigation: divert
hostgroups: [{ name: north, networks: [192.0.2.0/24] }]
scrubbing:
  next_hop: 198.51.100.66
  nodes: [{ name: s1, hostgroups: [global] }, { name: s2, hostgroups: [global] }, { name: north, hostgroups: [north] }]
ban: { ttl_seconds: 3600, fallback: none }
`;
const NODES = ["s1", "s2", "north"];
const OPERATOR: TokenConfig = { ...agent("noc"), role: "operator" };
const VICTIM = "203.0.113.7";

const scene = new Scenario();
let service: ServiceInProcess;
let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock();
  const tokens = [OPERATOR, ...NODES.map((name) => agent(name, name))];
  service = new ServiceInProcess({ directory: scene.directory, config: CONFIG, clock, tokens });
});
afterEach(() => service.stop());

/** Returns the tag of its document. */
async function poll(node: string): Promise<string> {
  return etagOf(JSON.stringify(await service.get(`/api/v1/dataplane/rules?node=${node}`, node)));
}

async function prefixesFor(node: string): Promise<readonly string[]> {
  const document = await service.get<{ bans: { prefix: string }[] }>(`/api/v1/dataplane/rules?node=${node}`, node);
  return document.bans.map(({ prefix }) => prefix);
}

async function report(node: string, content: object): Promise<void> {
  await service.order("POST", `/api/v1/dataplane/nodes/${node}/report`, content, node).catch(() => {
    // 204 has no body.
  });
}

const COMPLETE = { capabilities: ["refused_bans"] };
const applied = async (node: string, more: object = {}) =>
  report(node, { ...COMPLETE, rules_etag: await poll(node), ...more });
const refuses = (node: string, prefix = `${VICTIM}/32`, reason = "is not inside of bounds.networks") =>
  applied(node, { refused_bans: [{ reason, prefixes: [prefix] }] });

async function ban(): Promise<Partial<BanWire>> {
  const { bans } = await service.get<BansWire>("/api/v1/bans", "noc");
  return bans.find(({ state }) => state === "active") ?? bans[0] ?? {};
}

async function node(name: string): Promise<Record<string, unknown>> {
  const { nodes } = await service.get<{ nodes: Record<string, unknown>[] }>("/api/v1/dataplane/nodes", "noc");
  return nodes.find((each) => each["name"] === name) ?? {};
}

/** All poll, so that time may pass. */
async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  for (const name of NODES) await poll(name);
  clock.advance(250);
}

/** Returns the node that has the victim, and the other one. */
async function diverted(): Promise<readonly [string, string]> {
  await pass(0);
  await service.post("/api/v1/ban", { ip: VICTIM }, "noc");
  const { node: has = "" } = await ban();
  await pass(0);
  return has === "s1" ? ["s1", "s2"] : ["s2", "s1"];
}

test("the rule document of a node with hostgroups has their victims alone #rule-document-of-a-node-with-hostgroups", async () => {
  await diverted();
  await service.post("/api/v1/ban", { ip: "192.0.2.9" }, "noc");
  expect(await prefixesFor("north")).toEqual(["192.0.2.9/32"]);
  for (const name of ["s1", "s2"]) expect(await prefixesFor(name)).toEqual([`${VICTIM}/32`]);
});

test("a ban whose rules a node refuses moves to one that has them in force, and inventory, ban and log say why #node-enforcement-refused", async () => {
  const [first, second] = await diverted();
  await applied(second);
  await refuses(first);
  await pass(0);
  const reason = "is not inside of bounds.networks";
  expect(await ban()).toMatchObject({ state: "active", node: second, refused_by: [{ node: first, reason }] });
  expect(await node(first)).toMatchObject({
    ...{ alive: true, active_bans: 0, refused_bans: 1 },
    refusals: [{ prefix: `${VICTIM}/32`, reason }],
  });
  expect(await node(second)).not.toHaveProperty("refused_bans");
  expect(service.logged).toContainEqual(
    expect.objectContaining({ msg: "a scrub node does not enforce what it gets", node: first }),
  );
  expect(await service.metrics.text()).toContain('svc_scrub_nodes_not_enforcing{cause="refused"} 1\n');
  expect(await service.metrics.text()).toContain("svc_scrub_moves_total 1\n");
});

test("a ban that no node enforces ends, is refused for a while, and may come back after it #node-enforcement-ends", async () => {
  const [first, second] = await diverted();
  await refuses(first);
  await pass(0);
  await refuses(second);
  await pass(0);
  const reason = "no scrubbing node enforces its rules";
  const ended = await ban();
  expect(ended).toMatchObject({ state: "withdrawn", reason });
  expect(ended.refused_by).toHaveLength(2);
  for (const name of [first, second]) await applied(name);
  expect(await service.post("/api/v1/ban", { ip: VICTIM }, "noc")).toMatchObject({
    status: 409,
    body: { state: "rejected", reason },
  });
  for (let i = 0; i < 31; i++) await pass(10_000);
  expect((await service.post("/api/v1/ban", { ip: VICTIM }, "noc")).status).toBe(200);
  expect(await ban()).toMatchObject({ state: "active" });
});

test("a ban leaves a node that did not put it in force in time #node-enforcement-not-applied", async () => {
  const [first, second] = await diverted();
  await applied(second);
  await pass(10_000);
  const old = { ...COMPLETE, rules_etag: '"of before"' };
  await report(first, old);
  await pass(0);
  expect(await ban()).toMatchObject({ node: first });
  await pass(5500);
  await report(first, old);
  await pass(0);
  expect(await ban()).toMatchObject({ node: second });
  expect(await node(first)).toHaveProperty("not_applied_since");
  await applied(first);
  expect(await node(first)).not.toHaveProperty("not_applied_since");
});

test("of many refused bans the inventory lists the first and counts all #scrub-inventory-refused-bans", async () => {
  const [first] = await diverted();
  for (let i = 1; i <= 20; i++) await service.post("/api/v1/ban", { ip: `203.0.113.${100 + i}` }, "noc");
  const prefixes = Array.from({ length: 20 }, (_, i) => `203.0.113.${101 + i}/32`);
  await applied(first, { refused_bans: [{ reason: "no", prefixes }] });
  const { refused_bans: refused, refusals } = await node(first);
  expect([refused, (refusals as unknown[]).length]).toEqual([20, 16]);
});
