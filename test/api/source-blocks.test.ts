/** The source-block channel (docs/interface.md#source-block-command), by the whole service in dry run. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { type Answer, eventually, ServiceProcess } from "../fixtures/service.ts";

interface Wire extends SourceBlockWire {
  readonly error?: string;
}

interface AuditRow {
  readonly action: string;
  readonly target: string;
  readonly [field: string]: unknown;
}

type Caller = "noc" | "acme" | "node" | "eyes";

const BLOCK = "/api/v1/dataplane/sources";
const UNBLOCK = `${BLOCK}/unblock`;
const VICTIM = "203.0.113.7";
const OTHERS_VICTIM = "203.0.113.200";
const SOURCE = "198.51.100.1";

/** An interface that no machine has, so that nothing of this one is touched. Room for 18 pairs beside the bans. */
const CONFIG = `
networks: [203.0.113.0/24, 2001:db8::/32]
protected_whitelist: [203.0.113.53]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups:
  - { name: web, networks: [203.0.113.0/25], tenant: acme }
  - { name: mail, networks: [203.0.113.128/25], tenant: other }
ban: { max_active_bans: 1 }
dataplane:
  interfaces: [fw-absent0]
  allowlist: [198.51.100.53, 2001:db9:1::/48]
  limits: { max_dynamic_rules: 26 }
`;
const API = `tokens: [
  {name: noc, token_env: FW_NOC, role: operator}, {name: acme, token_env: FW_ACME, role: operator, tenant: acme},
  {name: node, token_env: FW_NODE, role: agent}, {name: eyes, token_env: FW_EYES, role: viewer}]`;
const ENV = { FW_NOC: "noc", FW_ACME: "acme", FW_NODE: "node", FW_EYES: "eyes" };

let service: ServiceProcess;

beforeAll(async () => {
  service = await ServiceProcess.start({ config: CONFIG, api: API, env: ENV });
}, 60_000);
afterAll(() => service.remove());

beforeEach(async () => {
  for (const { source, victim } of await listed()) await unblock({ source, victim });
});

const ask = (path: string, body: object, caller: Caller): Promise<Answer<Wire>> =>
  service.post<Wire>(path, body, caller);
const block = (fields: object = {}, caller: Caller = "noc") =>
  ask(BLOCK, { victim: VICTIM, source: SOURCE, ttl_seconds: 60, ...fields }, caller);
const unblock = (fields: object = {}, caller: Caller = "noc") =>
  ask(UNBLOCK, { victim: VICTIM, source: SOURCE, ...fields }, caller);
const listed = async (caller: Caller = "noc") =>
  (await service.get<{ sources: SourceBlockWire[] }>(BLOCK, caller)).body.sources;

async function audited(): Promise<AuditRow[]> {
  return (await service.get<{ events: AuditRow[] }>("/api/v1/audit", "noc")).body.events;
}

/** The rows that the call left, newest first. */
async function rowsOf(call: () => Promise<unknown>): Promise<AuditRow[]> {
  const before = (await audited()).length;
  await call();
  const events = await audited();
  return events.slice(0, events.length - before);
}

describe("source block", () => {
  test("source and victim are addresses in their one spelling", async () => {
    const { body } = await block({ source: "2001:DB9:0::1", victim: "2001:DB8::7" });
    expect(body).toMatchObject({ source: "2001:db9::1", victim: "2001:db8::7" });
  });

  test("created_at and expires_at are RFC 3339, ttl_seconds apart", async () => {
    const { body } = await block({ ttl_seconds: 90 });
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(90_000);
    expect([...Value.Errors(SourceBlockWire, body)]).toEqual([]);
  });

  test("dry_run is a boolean: that of the service", async () => {
    expect((await block()).body.dry_run).toBe(true);
  });

  test("reason is a string: the caller's, empty where there was none", async () => {
    expect((await block({ reason: "DNS scan, ticket 17" })).body.reason).toBe("DNS scan, ticket 17");
    expect((await block({ victim: "203.0.113.8" })).body.reason).toBe("");
  });

  test("reason is text that the databases can hold: half a character is replaced", async () => {
    expect((await block({ reason: "a\ud83d" })).body.reason).toBe("a\ufffd");
  });

  test("no other field is there", async () => {
    expect(Object.keys((await block()).body).toSorted()).toEqual([
      "created_at",
      "dry_run",
      "expires_at",
      "reason",
      "source",
      "victim",
    ]);
  });
});

describe("source block", () => {
  test("created by a block is live, until an unblock removes and returns it", async () => {
    const { status, body } = await block({ reason: "scan" });
    expect(status).toBe(200);
    expect(await listed()).toEqual([body]);
    expect(await unblock()).toEqual({ status: 200, body });
    expect(await listed()).toEqual([]);
  });

  test("refreshed by a block of the same pair stays live: created_at stays, the new TTL holds, shorter ones too", async () => {
    const first = (await block({ ttl_seconds: 600, reason: "first" })).body;
    const again = (await block({ ttl_seconds: 30, reason: "again" })).body;
    expect(again).toMatchObject({ created_at: first.created_at, reason: "again" });
    expect(Date.parse(again.expires_at)).toBeLessThan(Date.parse(first.expires_at));
    expect(await listed()).toEqual([again]);
  });

  test("lapsed by its TTL is removed by itself, and out of the metrics", async () => {
    const alive = async () => /^svc_source_blocks\{state="virtual"\} (\d+)$/m.exec(await metrics())?.[1];
    await block({ ttl_seconds: 1 });
    expect(await alive()).toBe("1");
    await eventually(async () => (await listed()).length === 0, "the block does not lapse");
    await eventually(async () => (await alive()) === "0", "the metric keeps the block");
    expect(await unblock()).toMatchObject({ status: 404 });
  });
});

async function metrics(): Promise<string> {
  return (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
}

describe("source block bad input", () => {
  test.each([
    [{ victim: "203.0.113" }, "invalid ip: 203.0.113"],
    [{ source: "198.51.100.01" }, "invalid ip: 198.51.100.01"],
    [{ source: "198.51.100.0/24" }, "invalid ip: 198.51.100.0/24"],
    [{ source: "::ffff:198.51.100.1" }, "invalid ip: ::ffff:198.51.100.1"],
    [{ source: "" }, "invalid ip: "],
    [{ source: "2001:db9::1" }, "invalid JSON body: victim and source are of different address families"],
    [{ victim: "2001:db8::1" }, "invalid JSON body: victim and source are of different address families"],
    [{ ttl_seconds: 0 }, "invalid JSON body: ttl_seconds must be a whole number from 1 to 86400"],
    [{ ttl_seconds: -1 }, "invalid JSON body: ttl_seconds must be a whole number from 1 to 86400"],
    [{ ttl_seconds: 86_401 }, "invalid JSON body: ttl_seconds must be a whole number from 1 to 86400"],
    [{ ttl_seconds: 1.5 }, "invalid JSON body: ttl_seconds must be a whole number from 1 to 86400"],
    [{ ttl_seconds: "60" }, "invalid JSON body: ttl_seconds must be a number"],
    [{ ttl_seconds: null }, "invalid JSON body: ttl_seconds must be a number"],
    [{ ttl_seconds: undefined }, "invalid JSON body: ttl_seconds is required"],
    [{ victim: undefined }, "invalid JSON body: victim is required"],
    [{ source: undefined }, "invalid JSON body: source is required"],
    [{ source: 7 }, "invalid JSON body: source must be a string"],
    [{ reason: 7 }, "invalid JSON body: reason must be a string"],
    [{ reason: "x".repeat(1001) }, "invalid JSON body: reason has more than 1000 characters"],
    [{ ttl: 60 }, 'invalid JSON body: unknown field "ttl"'],
  ])("of a block is 400: %j", async (fields, error) => {
    expect(await block(fields)).toEqual({ status: 400, body: { error } as Wire });
    expect(await listed()).toEqual([]);
  });

  test.each([
    [{ victim: "x" }, "invalid ip: x"],
    [{ source: "2001:db9::1" }, "invalid JSON body: victim and source are of different address families"],
    [{ source: undefined }, "invalid JSON body: source is required"],
  ])("of an unblock is 400: %j", async (fields, error) => {
    expect(await unblock(fields)).toEqual({ status: 400, body: { error } as Wire });
  });

  test("is what is no JSON", async () => {
    const headers = { authorization: "Bearer noc", "content-type": "application/json" };
    const answer = await fetch(`http://127.0.0.1:${service.port}${BLOCK}`, { method: "POST", headers, body: "{" });
    expect(answer.status).toBe(400);
  });

  test.each([1, 86_400])("is no ttl_seconds of %d", async (seconds) => {
    expect((await block({ ttl_seconds: seconds })).status).toBe(200);
  });

  test("is no reason of 1000 characters, whatever they are", async () => {
    expect((await block({ reason: "😀".repeat(1000) })).body.reason).toBe("😀".repeat(1000));
  });
});

test("source unblock ignores ttl_seconds, whatever it is, and takes a reason for the audit trail", async () => {
  await block();
  const rows = await rowsOf(() => unblock({ ttl_seconds: "never", reason: "ticket 18" }));
  expect(rows).toMatchObject([{ action: "source_unblock", result: "removed", reason: "ticket 18" }]);
});

test("source unblock without a live block of the pair is 404, also where the source has another", async () => {
  await block();
  const none = { status: 404, body: { error: "no such source block" } as Wire };
  expect(await unblock({ victim: "203.0.113.8" })).toEqual(none);
  expect((await unblock()).status).toBe(200);
  expect(await unblock()).toEqual(none);
});

describe("source block refused", () => {
  test.each([
    { fields: { victim: "203.0.113.53" }, error: "victim is in the protected whitelist" },
    { fields: { victim: "192.0.2.1" }, error: "victim is outside configured networks" },
    { fields: { source: "198.51.100.53" }, error: "source is in the data plane allowlist" },
    { fields: { source: "2001:db9:1::9", victim: "2001:db8::1" }, error: "source is in the data plane allowlist" },
    { fields: { source: "203.0.113.9" }, error: "source is inside the protected networks" },
  ])("$error: $fields", async ({ fields, error }) => {
    expect(await block(fields)).toEqual({ status: 409, body: { error } as Wire });
    expect(await listed()).toEqual([]);
  });

  test("the ninth victim of a source, not for a refresh, and not once there is room", async () => {
    for (let i = 1; i <= 8; i++) expect((await block({ victim: `203.0.113.${i}` })).status).toBe(200);
    const ninth = await block({ victim: "203.0.113.9" });
    expect(ninth).toEqual({
      status: 409,
      body: { error: "source already holds 8 victims: unblock one of them" } as Wire,
    });
    expect((await block({ victim: "203.0.113.8" })).status).toBe(200);
    expect((await block({ victim: "203.0.113.9", source: "198.51.100.2" })).status).toBe(200);
    await unblock({ victim: "203.0.113.1" });
    expect((await block({ victim: "203.0.113.9" })).status).toBe(200);
  });

  test("more pairs than max_dynamic_rules less eight for each ban, not for a refresh", async () => {
    const source = (i: number) => ({ source: `198.51.100.${100 + i}` });
    for (let i = 0; i < 18; i++) expect((await block(source(i))).status).toBe(200);
    expect(await metrics()).toContain("svc_source_block_slots_free 0");
    const { status, body } = await block(source(18));
    expect([status, body.error]).toEqual([
      409,
      "no policy slots left: unblock others, or raise dataplane.limits.max_dynamic_rules",
    ]);
    expect((await block(source(17))).status).toBe(200);
    await unblock(source(0));
    expect((await block(source(18))).status).toBe(200);
  });

  test("is counted by its reason", async () => {
    const refused = async (reason: string) =>
      Number(new RegExp(`svc_source_blocks_refused_total\\{reason="${reason}"\\} (\\d+)`).exec(await metrics())?.[1]);
    const before = [await refused("source_allowlisted"), await refused("not_blocked")];
    await block({ source: "198.51.100.53" });
    await unblock();
    expect([await refused("source_allowlisted"), await refused("not_blocked")]).toEqual(before.map((n) => n + 1));
  });
});

describe("source block 403", () => {
  const FOREIGN = { status: 403, body: { error: "target is outside your tenant" } as Wire };

  test("for a victim outside of the caller's tenant, uniformly, whatever there is of it", async () => {
    for (const victim of [OTHERS_VICTIM, "2001:db8::1", "192.0.2.1"]) {
      const source = victim.includes(":") ? "2001:db9::1" : SOURCE;
      await block({ victim, source });
      expect(await block({ victim, source }, "acme")).toEqual(FOREIGN);
      expect(await unblock({ victim, source }, "acme")).toEqual(FOREIGN);
      expect(await unblock({ victim, source: source.replace(/1$/, "2") }, "acme")).toEqual(FOREIGN);
    }
    expect(await listed()).toHaveLength(2);
  });

  test("comes before all state and after all bad input", async () => {
    expect(await block({ victim: OTHERS_VICTIM, source: "198.51.100.53" }, "acme")).toEqual(FOREIGN);
    expect((await block({ victim: OTHERS_VICTIM, ttl_seconds: 0 }, "acme")).status).toBe(400);
    expect((await block({ victim: OTHERS_VICTIM, source: "2001:db9::1" }, "acme")).status).toBe(400);
  });

  test("is none for the tenant's own victim, whosever the source is", async () => {
    expect((await block({}, "acme")).status).toBe(200);
    expect((await unblock({}, "acme")).status).toBe(200);
  });

  test.each(["node", "eyes"] as const)("for the role of %s", async (caller) => {
    const denied = { status: 403, body: { error: "this token's role may not perform this action" } as Wire };
    expect(await block({}, caller)).toEqual(denied);
    expect(await unblock({}, caller)).toEqual(denied);
  });
});

describe("GET /api/v1/dataplane/sources", () => {
  test("lists what is live, the oldest first, and a refresh moves nothing", async () => {
    await block({ source: "198.51.100.9" });
    await block({ source: "198.51.100.2" });
    await block({ source: "198.51.100.9" });
    expect((await listed("eyes")).map(({ source }) => source)).toEqual(["198.51.100.9", "198.51.100.2"]);
  });

  test("shows a tenant the blocks for its own victims", async () => {
    await block({ victim: OTHERS_VICTIM });
    await block();
    expect((await listed("acme")).map(({ victim }) => victim)).toEqual([VICTIM]);
  });

  test("is denied to an agent", async () => {
    expect((await service.get(BLOCK, "node")).status).toBe(403);
  });
});

describe("source block audit:", () => {
  const PAIR = { target: `${SOURCE}->${VICTIM}`, target_type: "source", source: "api", ban_state: "", dry_run: 1 };

  test("a block and an unblock are one row each, with the operator and the caller's words", async () => {
    const blocked = await rowsOf(() => block({ reason: "scan" }, "acme"));
    const own = { ...PAIR, operator: "acme", role: "operator", tenant: "acme" };
    expect(blocked).toMatchObject([{ ...own, action: "source_block", result: "blocked", reason: "scan" }]);
    const removed = await rowsOf(() => unblock({}, "acme"));
    expect(removed).toMatchObject([{ ...own, action: "source_unblock", result: "removed", reason: "" }]);
  });

  test.each<readonly [string, object, Caller, object]>([
    [
      "a refusal by policy",
      { source: "198.51.100.53" },
      "noc",
      { result: "rejected", reason: "source is in the data plane allowlist" },
    ],
    [
      "a foreign victim",
      { victim: OTHERS_VICTIM },
      "acme",
      { result: "rejected", reason: "target is outside your tenant" },
    ],
    ["a role that may not", {}, "node", { result: "rejected", operator: "node", role: "agent", target: "" }],
    ["a bad TTL", { ttl_seconds: 0 }, "noc", { result: "error", target: PAIR.target }],
    ["a bad address", { source: "x" }, "noc", { result: "error", target: "", reason: "invalid ip: x" }],
    ["an unknown field", { x: 1 }, "noc", { result: "error", target: "" }],
  ])("%s is one row", async (_, fields, caller, row) => {
    const rows = await rowsOf(() => block(fields, caller));
    expect(rows).toHaveLength(1);
    expect(rows).toMatchObject([{ ...row, action: "source_block", target_type: "source" }]);
  });

  test("an unblock of nothing is one row", async () => {
    const rows = await rowsOf(() => unblock());
    expect(rows).toMatchObject([
      { ...PAIR, action: "source_unblock", result: "rejected", reason: "no such source block" },
    ]);
  });

  test("rows are found by source and by victim", async () => {
    await block();
    for (const address of [SOURCE, VICTIM]) {
      const path = `/api/v1/audit?action=source_block&target=${address}`;
      const { events } = (await service.get<{ events: AuditRow[] }>(path, "noc")).body;
      expect(events[0]?.target).toBe(PAIR.target);
    }
  });
});

test("limit source-block ttl_seconds are 1 to 86400", async () => {
  const statuses = [0, 1, 86_400, 86_401].map(async (seconds) => (await block({ ttl_seconds: seconds })).status);
  expect(await Promise.all(statuses)).toEqual([400, 200, 200, 400]);
});

test("limit victims per source are 8", async () => {
  const statuses: number[] = [];
  for (let i = 1; i <= 9; i++) statuses.push((await block({ victim: `203.0.113.${i}` })).status);
  expect(statuses).toEqual([...new Array<number>(8).fill(200), 409]);
});

test("limit dynamic rules: installs count against max_dynamic_rules", async () => {
  const free = async () => Number(/^svc_source_block_slots_free (\d+)$/m.exec(await metrics())?.[1]);
  expect(await free()).toBe(18);
  await block();
  expect(await free()).toBe(17);
  await unblock();
  expect(await free()).toBe(18);
});
