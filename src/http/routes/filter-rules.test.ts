import { afterEach, beforeEach, describe, expect, test } from "bun:test";
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
  const limit = { packetsPerSecond: 5, bytesPerSecond: 125_000, isPerSource: true, ipv4Length: 32, ipv6Length: 64 };
  const configured = [operatorRule({ name: "own", action: "limit", limit })];
  server.backend.filterRules.reconfigure({
    configured,
    networks: [prefix("192.0.2.0/24")],
    hasDataplane: true,
    sets: ["bogons"],
  });
});
afterEach(() => server.http.stop());

const post = (body: object, headers: Record<string, string> = {}) =>
  fetch(`${server.base}${PATH}`, { method: "POST", headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) });
const rules = async (): Promise<object[]> => ((await (await server.get(PATH)).json()) as { rules: object[] }).rules;
const isoAfter = (ms: number) => new Date(server.clock.wallMs() + ms).toISOString();
const remove = (name: string) => fetch(`${server.base}${PATH}/${name}`, { method: "DELETE" });

const OWN = {
  ...{ name: "own", action: "limit", when: "always", dry_run: false, match: "any", origin: "configuration" },
  ...{ packets_per_second: 5, mbps: 1, per: "source" },
};

test("an order is listed with what it matched, and removed #get-api-v1-filter-rules #filter-rule-match #filter-rule-origin #filter-rule-counts", async () => {
  const answer = await post(ORDER);
  expect(answer.status).toBe(200);
  const rule = {
    ...{ name: "no-chargen", action: "drop", when: "always", dry_run: false },
    ...{ match: "proto udp src-port 19", origin: "order", reason: "flood" },
    ...{ created_at: isoAfter(0), expires_at: isoAfter(60_000) },
  };
  expect(await answer.json()).toEqual(rule);
  const counts = { packets: 9, bytes: 900, droppedPackets: 8, droppedBytes: 800 };
  server.backend.ruleCounts.set("no-chargen", counts);
  expect(await rules()).toEqual([{ ...rule, packets: 9, bytes: 900, dropped_packets: 8, dropped_bytes: 800 }, OWN]);
  expect(await (await remove("no-chargen")).json()).toEqual(rule);
  expect(await rules()).toEqual([OWN]);
});

test("only rules that were ordered can be removed, and every command is audited #filter-rule-command-remove #filter-rule-command-is-audited", async () => {
  await post(ORDER);
  await post({ ...ORDER, name: "own" });
  await remove("no-chargen");
  for (const name of ["no-chargen", "own"]) await expectError(remove(name), 404, "no rule of this name was ordered");
  const words = "drop proto udp src-port 19";
  expect(server.audited).toMatchObject([
    {
      action: "filter_rule",
      result: "set",
      target: "no-chargen",
      targetType: "rule",
      reason: `${words} for 60 s: flood`,
    },
    { action: "filter_rule", result: "rejected", target: "own" },
    { action: "filter_rule", result: "cleared", target: "no-chargen", reason: words },
    { action: "filter_rule", result: "rejected", target: "no-chargen" },
    { action: "filter_rule", result: "rejected", target: "own" },
  ]);
});

test("an order replaces that of its name; the newest are tried first, and may hide others #filter-rule-command-order #filter-rule-command-replaces #filter-rule-hidden", async () => {
  await post({ ...ORDER, source_ports: ["53"] });
  server.clock.advance(1);
  await post(ORDER);
  server.clock.advance(1);
  await post({ name: "wide", action: "drop", protocol: "udp", ttl_seconds: 60 });
  const shown = await rules();
  expect(shown).toMatchObject([
    { name: "wide", expires_at: isoAfter(60_000) },
    { name: "no-chargen", expires_at: isoAfter(59_999), hidden_by: "wide" },
    { name: "own" },
  ]);
  expect(shown.map((rule) => "hidden_by" in rule)).toEqual([false, true, false]);
});

test.each([
  [{ ...ORDER, ttl_seconds: 0 }, "ttl_seconds must be a whole number from 1 to 31536000"],
  [{ ...ORDER, ttl_seconds: 31_536_001 }, "ttl_seconds must be a whole number from 1 to 31536000"],
  [{ ...ORDER, action: "limit" }, "action: limit needs packets_per_second or mbps: the rate that may pass"],
  [{ ...ORDER, port: 5 }, "port: unknown key: did you mean ports?"],
  [{ ...ORDER, protocol: "icmp" }, "source_ports: goes with protocol tcp, udp, sctp, not icmp"],
  [{ ...ORDER, reason: "x".repeat(201) }, "reason has more than 200 characters"],
  [{ ...ORDER, payload: [{ bytes: "xx" }] }, "payload.0.bytes: must be 1 to 32 bytes"],
])("bad input is 400 in the words of the check: %j #filter-rule-command-bad-input", async (body, error) => {
  await expectError(post(body), 400, expect.stringContaining(error));
});

test("a year and a reason of 200 characters are accepted", async () => {
  expect((await post({ ...ORDER, ttl_seconds: 31_536_000, reason: "x".repeat(200) })).status).toBe(200);
});

describe("an order is refused", () => {
  test("where the configuration does not allow it #filter-rule-refused-without-a-data-plane #filter-rule-refused-for-a-name #filter-rule-refused-outside #filter-rule-refused-for-a-set", async () => {
    const refused = (fields: object, error: string) => expectError(post({ ...ORDER, ...fields }), 409, error);
    await refused({ name: "own" }, "the configuration has a rule of this name: choose another");
    const destinations = ["192.0.2.1", "198.51.100.1"];
    await refused({ destinations }, "a destination is outside configured networks");
    const unknown = "source_sets or not_source_sets names a set that prefix_sets of the configuration does not have";
    for (const key of ["source_sets", "not_source_sets"]) await refused({ [key]: ["bogons", "none"] }, unknown);
    server.backend.filterRules.reconfigure({ configured: [], networks: [], hasDataplane: false, sets: [] });
    await refused({}, "the data plane is absent or disabled: see dataplane in the configuration");
  });

  test("beyond 25 rules, unless its name was ordered #filter-rule-refused-the-26th", async () => {
    for (let i = 0; i < FILTER_RULE_ORDERS_MAX; i++) expect((await post({ ...ORDER, name: `r${i}` })).status).toBe(200);
    await expectError(post(ORDER), 409, "25 rules are ordered: remove one of them");
    expect((await post({ ...ORDER, name: "r0" })).status).toBe(200);
  });
});

test("only unscoped operators order, only unscoped callers read", async () => {
  admitCallers(server);
  await expectError(post(ORDER, as("viewer")), 403, "this token's role may not perform this action");
  await expectError(post(ORDER, as("tenantOperator")), 403, "restricted to unscoped tokens");
  expect((await fetch(`${server.base}${PATH}`, { headers: as("tenantOperator") })).status).toBe(403);
  expect((await fetch(`${server.base}${PATH}`, { headers: as("viewer") })).status).toBe(200);
});
