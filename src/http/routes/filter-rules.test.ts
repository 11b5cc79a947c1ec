import { afterEach, beforeEach, expect, test } from "bun:test";
import { admitCallers, as } from "../../../test/fixtures/http/callers.ts";
import { expectError, JSON_TYPE, TestServer } from "../../../test/fixtures/http/http.ts";
import { operatorRule } from "../../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { FILTER_RULE_ORDERS_MAX } from "../../limits.ts";

const PATH = "/api/v1/filter-rules";
const ORDER = {
  name: "no-chargen",
  action: "drop",
  protocol: "udp",
  source_ports: ["19"],
  ttl_seconds: 60,
  reason: "flood",
};

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  const configured = [operatorRule({ name: "own", action: "pass" })];
  server.backend.filterRules.reconfigure({
    configured,
    networks: [prefix("192.0.2.0/24")],
    hasDataplane: true,
    sets: [],
  });
});
afterEach(() => server.http.stop());

const post = (body: object, headers: Record<string, string> = {}) =>
  fetch(`${server.base}${PATH}`, { method: "POST", headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) });
const remove = (name: string) => fetch(`${server.base}${PATH}/${name}`, { method: "DELETE" });

test("GET /api/v1/filter-rules: a rule is added before those of the configuration, read with what it matched, and removed", async () => {
  const answer = await post(ORDER);
  expect(answer.status).toBe(200);
  const rule = {
    name: "no-chargen",
    action: "drop",
    when: "always",
    dry_run: false,
    match: "proto udp src-port 19",
    origin: "order",
    created_at: expect.any(String),
    expires_at: expect.any(String),
    reason: "flood",
  };
  expect(await answer.json()).toEqual(rule);
  const counts = { packets: 9, bytes: 900, droppedPackets: 8, droppedBytes: 800 };
  server.backend.ruleCounts.set("no-chargen", counts);
  const own = { name: "own", action: "pass", when: "always", dry_run: false, match: "any", origin: "configuration" };
  expect(await (await server.get(PATH)).json()).toEqual({
    rules: [{ ...rule, packets: 9, bytes: 900, dropped_packets: 8, dropped_bytes: 800 }, own],
  });
  expect(await (await remove("no-chargen")).json()).toEqual(rule);
  expect(await (await server.get(PATH)).json()).toEqual({ rules: [own] });
  await expectError(remove("no-chargen"), 404, "no rule of this name was ordered");
  await expectError(remove("own"), 404, "no rule of this name was ordered");
  expect(server.audited).toMatchObject([
    { action: "filter_rule", result: "set", target: "no-chargen", targetType: "rule", reason: "flood" },
    { action: "filter_rule", result: "cleared", target: "no-chargen" },
    { action: "filter_rule", result: "rejected", target: "no-chargen" },
    { action: "filter_rule", result: "rejected", target: "own" },
  ]);
});

test("an order of the same name replaces it; the newest are tried first, and may hide others", async () => {
  await post({ ...ORDER, source_ports: ["53"] });
  server.clock.advance(1);
  await post(ORDER);
  server.clock.advance(1);
  await post({ name: "wide", action: "drop", protocol: "udp", ttl_seconds: 60 });
  const { rules } = (await (await server.get(PATH)).json()) as { rules: { name: string; hidden_by?: string }[] };
  expect(rules.map(({ name, hidden_by: by }) => [name, by])).toEqual([
    ["wide", undefined],
    ["no-chargen", "wide"],
    ["own", undefined],
  ]);
});

test.each([
  [{ ...ORDER, ttl_seconds: 0 }, "ttl_seconds must be a whole number from 1 to 31536000"],
  [{ ...ORDER, action: "limit" }, "action: limit needs packets_per_second or mbps: the rate that may pass"],
  [{ ...ORDER, port: 5 }, "port: unknown key: did you mean ports?"],
  [{ ...ORDER, protocol: "icmp" }, "source_ports: goes with protocol tcp, udp, sctp, not icmp"],
  [{ ...ORDER, reason: "x".repeat(201) }, "reason has more than 200 characters"],
  [{ ...ORDER, payload: [{ bytes: "xx" }] }, /payload.0.bytes: must be 1 to 32 bytes/],
])("bad input is refused: %j", async (body, error) => {
  const answer = await post(body);
  expect(answer.status).toBe(400);
  const { error: said } = (await answer.json()) as { error: string };
  if (typeof error === "string") expect(said).toContain(error);
  else expect(said).toMatch(error);
});

test("what the state forbids is refused", async () => {
  await expectError(post({ ...ORDER, name: "own" }), 409, "the configuration has a rule of this name: choose another");
  const outside = { ...ORDER, destinations: ["198.51.100.1"] };
  await expectError(post(outside), 409, "a destination is outside configured networks");
  for (let i = 0; i < FILTER_RULE_ORDERS_MAX; i++) expect((await post({ ...ORDER, name: `r${i}` })).status).toBe(200);
  await expectError(post(ORDER), 409, "25 rules are ordered: remove one of them");
  expect((await post({ ...ORDER, name: "r0" })).status).toBe(200);
  server.backend.filterRules.reconfigure({ configured: [], networks: [], hasDataplane: false, sets: [] });
  await expectError(post(ORDER), 409, "the data plane is absent or disabled: see dataplane in the configuration");
});

test("only unscoped operators order, only unscoped callers read", async () => {
  admitCallers(server);
  await expectError(post(ORDER, as("viewer")), 403, "this token's role may not perform this action");
  await expectError(post(ORDER, as("tenantOperator")), 403, "restricted to unscoped tokens");
  expect((await fetch(`${server.base}${PATH}`, { headers: as("tenantOperator") })).status).toBe(403);
  expect((await fetch(`${server.base}${PATH}`, { headers: as("viewer") })).status).toBe(200);
});
