/** What a filter rule or a source block would do, asked before it is ordered. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { ACME_HOST, admitCallers, as, type Caller, OTHER_HOST } from "../../../test/fixtures/http/callers.ts";
import { JSON_TYPE, TestServer } from "../../../test/fixtures/http/http.ts";
import { operatorRule } from "../../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import type { RuleEffect } from "../../mitigation/operator/rule-effect.ts";

const RULES = "filter-rules/preview";
const SOURCES = "dataplane/sources/preview";
const ORDER = { name: "all", action: "drop", ttl_seconds: 60 };
const BLOCK = { source: "198.51.100.9", victim: ACME_HOST, ttl_seconds: 60 };
const EFFECT: RuleEffect = {
  ...{ headers: 800, seconds: 60, hosts: 120, hostgroups: ["web"], notJudged: ["ttl"] },
  total: { pps: 20_000, mbps: 160 },
  unattacked: { pps: 10_000, mbps: 80 },
  matched: { pps: 19_200, mbps: 120 },
  dropped: { pps: 10_000, mbps: 40 },
  droppedUnattacked: { pps: 2500, mbps: 10 },
  droppedBefore: { pps: 0, mbps: 0 },
};

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
  const configured = [operatorRule({ name: "own", action: "pass" })];
  const networks = [prefix("192.0.2.0/24")];
  server.backend.filterRules.reconfigure({ configured, networks, hasDataplane: true, sets: [] });
});
afterEach(() => server.http.stop());

async function ask(path: string, body: object, caller: Caller = "operator"): Promise<[number, unknown]> {
  const init = { method: "POST", headers: { ...JSON_TYPE, ...as(caller) }, body: JSON.stringify(body) };
  const answer = await fetch(`${server.base}/api/v1/${path}`, init);
  return [answer.status, await answer.json()];
}

test("a preview has the rule in words, what it hides, and its effect #order-effect-rates #order-effect-shares #preview-of-an-order-changes-nothing", async () => {
  server.backend.previews.effect = { kind: "known", effect: EFFECT };
  const [status, body] = await ask(RULES, ORDER);
  expect(status).toBe(200);
  expect(body).toMatchObject({ rule: { name: "all", match: "any", origin: "order" }, hides: ["own"] });
  expect(body).not.toHaveProperty("refusal");
  expect(body).toHaveProperty("effect", {
    ...{ available: true, headers: 800, seconds: 60, hosts: 120, hostgroups: ["web"], not_judged: ["ttl"] },
    ...{ total: EFFECT.total, unattacked: EFFECT.unattacked, matched: EFFECT.matched, dropped: EFFECT.dropped },
    ...{ dropped_unattacked: EFFECT.droppedUnattacked, dropped_before: EFFECT.droppedBefore },
    ...{ packets_share: 0.5, bits_share: 0.25, unattacked_share: 0.25, collateral_share: 0.25 },
  });
  expect(server.backend.filterRules.views().map(({ rule }) => rule.name)).toEqual(["own"]);
  expect(server.audited).toEqual([]);
});

test("a preview has the refusal of the order, in its words #preview-of-an-order-has-the-refusal", async () => {
  const refusal = "the configuration has a rule of this name: choose another";
  expect((await ask(RULES, { ...ORDER, name: "own" }))[1]).toMatchObject({ refusal });
  server.backend.previews.blockRefusal = "victim_whitelisted";
  expect((await ask(SOURCES, BLOCK))[1]).toEqual({
    ...{ source: BLOCK.source, victim: BLOCK.victim, dry_run: false },
    refusal: "victim is in the protected whitelist",
    effect: { available: false, reason: "a test" },
  });
});

test.each<[string, object, Caller, number, object]>([
  [RULES, { ...ORDER, ttl_seconds: 0 }, "operator", 400, { error: expect.stringContaining("ttl_seconds must be") }],
  [RULES, ORDER, "viewer", 403, { error: expect.any(String) }],
  [RULES, ORDER, "tenantOperator", 403, { error: expect.any(String) }],
  [SOURCES, { ...BLOCK, victim: "x" }, "operator", 400, { error: "invalid ip: x" }],
  [SOURCES, { ...BLOCK, victim: OTHER_HOST }, "tenantOperator", 403, { error: "target is outside your tenant" }],
  [SOURCES, BLOCK, "viewer", 403, { error: expect.any(String) }],
  [SOURCES, BLOCK, "tenantOperator", 200, { source: BLOCK.source }],
])("%s of %j by %s is %d", async (path, body, caller, status, answer) => {
  expect(await ask(path, body, caller)).toMatchObject([status, answer]);
});

test("the reason of a ban is kept in the audit trail, beside the policy's #ban-command-reason", async () => {
  const reason = "ticket 7, Zürich";
  expect((await ask("ban", { ip: ACME_HOST, reason }))[0]).toBe(200);
  const { ban } = server.backend.onBan(prefix("192.0.2.9/32").address);
  server.backend.onUnban = () => ({ ban: { ...ban, state: "withdrawn", reason: "manual unban" }, routeState: null });
  expect((await ask("unban", { ip: ACME_HOST, reason }))[0]).toBe(200);
  expect(server.audited).toMatchObject([
    { action: "ban", result: "active", reason },
    { action: "unban", result: "withdrawn", reason: `manual unban: ${reason}` },
  ]);
  expect((await ask("ban", { ip: ACME_HOST, reason: "x".repeat(200) }))[0]).toBe(200);
});

test("an order for a prefix is a row of its first address that begins with the prefix, also where it is refused", async () => {
  server.backend.onUnban = () => null;
  expect((await ask("unban", { prefix: "192.0.2.8/30" }))[0]).toBe(404);
  expect((await ask("unban", { prefix: "198.51.100.8/30" }, "tenantOperator"))[0]).toBe(403);
  const row = { action: "unban", result: "rejected", targetType: "prefix" };
  expect(server.audited).toMatchObject([
    { ...row, target: "192.0.2.8", reason: "192.0.2.8/30: no active ban for 192.0.2.8/30" },
    { ...row, target: "198.51.100.8", reason: expect.stringMatching(/^198\.51\.100\.8\/30: ./) },
  ]);
});

test.each([
  ["x".repeat(201), "reason has more than 200 characters"],
  ["a\u202eb", "reason has control characters, or ones that turn the direction of writing"],
  [7, "reason must be a string"],
])("a ban's reason %j is refused", async (reason, error) => {
  const [status, body] = await ask("ban", { ip: ACME_HOST, reason });
  expect([status, body]).toEqual([400, { error: expect.stringContaining(error) }]);
  expect(server.backend.calls).toEqual([]);
});
