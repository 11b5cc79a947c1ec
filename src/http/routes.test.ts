import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { expectError, TestServer } from "../../test/fixtures/http/http.ts";
import { attack, ban, host, NOON } from "../../test/fixtures/views.ts";
import { AttacksWire } from "./wire/attack.ts";
import { BanWire } from "./wire/ban.ts";
import { StatusWire } from "./wire/status.ts";
import { HostsWire } from "./wire/traffic/host.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
});
afterEach(() => server.http.stop());

/** Nothing of such a request reaches the service. */
async function expectRefusal(answer: Response, status: number, error: string): Promise<void> {
  await expectError(answer, status, error);
  expect(server.backend.calls).toEqual([]);
}

async function checked(answer: Response, schema: TSchema): Promise<Record<string, unknown>> {
  const value: unknown = await answer.json();
  expect([...Value.Errors(schema, value)]).toEqual([]);
  expect(answer.headers.get("content-type")).toBe("application/json");
  return value as Record<string, unknown>;
}

describe("GET /api/v1", () => {
  test("/status is of an unscoped operator on an open API #get-api-v1-status", async () => {
    const answer = await server.get("/api/v1/status");
    expect(await checked(answer, StatusWire)).toMatchObject({ role: "operator", unscoped: true, version: "1.2.3" });
  });

  test("/attacks is {active, recent}: those in progress and those that are over #get-api-v1-attacks", async () => {
    const over = attack({ id: "a0", endedAt: NOON + 1000 });
    server.backend.attacksView = { active: [{ attack: attack(), ban: ban() }], recent: [{ attack: over, ban: null }] };
    const value = await checked(await server.get("/api/v1/attacks"), AttacksWire);
    expect(value).toMatchObject({ active: [{ id: "a1", ban_state: "active" }], recent: [{ id: "a0", active: false }] });
  });

  test("/hosts is {hosts}: those that the service tracks #get-api-v1-hosts", async () => {
    server.backend.hostViews = [host(), host({ target: "2001:db8::1" })];
    const value = await checked(await server.get("/api/v1/hosts"), HostsWire);
    expect(value).toMatchObject({ hosts: [{ target: "192.0.2.1" }, { target: "2001:db8::1" }] });
  });

  test("/bans is {bans}, active and historical, in order of address #get-api-v1-bans", async () => {
    server.backend.banViews = ["192.0.2.9", "192.0.2.10", "10.0.0.1"].map((target) => ({
      ban: ban({ target }),
      routeState: null,
    }));
    const answer = await server.get("/api/v1/bans");
    const { bans } = (await answer.json()) as { bans: { target: string }[] };
    expect(bans.map(({ target }) => target)).toEqual(["10.0.0.1", "192.0.2.9", "192.0.2.10"]);
    for (const wire of bans) expect([...Value.Errors(BanWire, wire)]).toEqual([]);
  });

  test.each([
    ["attacks", '{"active":[],"recent":[]}'],
    ["hosts", '{"hosts":[]}'],
    ["bans", '{"bans":[]}'],
  ])(
    "/%s has empty lists where there is nothing #get-api-v1-attacks #get-api-v1-bans #get-api-v1-hosts",
    async (name, text) => {
      expect(await (await server.get(`/api/v1/${name}`)).text()).toBe(text);
    },
  );
});

test("reads are not for caches, and no other type than they say #reads-are-not-for-caches", async () => {
  const { headers } = await server.get("/api/v1/status");
  expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"]);
});

describe("ban command", () => {
  test("returns the ban, for the address in its one spelling #ban-command-returns", async () => {
    const answer = await server.post("/api/v1/ban", '{"ip":"2001:DB8:0:0::1"}');
    expect(answer.status).toBe(200);
    expect(await checked(answer, BanWire)).toMatchObject({ target: "2001:db8::1", state: "active", announced: true });
    expect(server.backend.calls).toEqual(['ban 2001:db8::1 by ""']);
  });

  test("that meets a bug of the service is answered with 500 without details, and logged once a minute", async () => {
    server.backend.fault = new Error("undefined is not a function");
    for (let i = 0; i < 3; i++)
      await expectError(await server.post("/api/v1/ban", '{"ip":"192.0.2.1"}'), 500, "internal error");
    expect(server.logged).toHaveLength(1);
    server.clock.advance(60_000);
    await server.post("/api/v1/ban", '{"ip":"192.0.2.1"}');
    expect(server.logged).toMatchObject([{ suppressed: 0 }, { suppressed: 2, cause: server.backend.fault }]);
  });
});

test.each(["whitelisted", "outside configured networks", "max_active_bans reached"])(
  "ban refusal %s is 409 with the rejected ban #ban-refusal-whitelisted #ban-refusal-max-active-bans #ban-refusal-outside-configured-networks #error-409",
  async (reason) => {
    server.backend.onBan = (target) => ({ ban: ban({ target, state: "rejected", reason }), routeState: null });
    const answer = await server.post("/api/v1/ban", '{"ip":"192.0.2.1"}');
    expect(answer.status).toBe(409);
    expect(await checked(answer, BanWire)).toMatchObject({ state: "rejected", reason, target: "192.0.2.1" });
  },
);

describe("unban command", () => {
  test("returns the withdrawn ban #unban-command-returns", async () => {
    server.backend.onUnban = (target) => ({
      ban: ban({ target, state: "withdrawn", withdrawnAt: NOON, reason: "manual unban" }),
      routeState: null,
    });
    const answer = await server.post("/api/v1/unban", '{"ip":"192.0.2.1"}');
    expect(answer.status).toBe(200);
    expect(await checked(answer, BanWire)).toMatchObject({ state: "withdrawn", reason: "manual unban" });
    expect(server.backend.calls).toEqual(['unban 192.0.2.1 by ""']);
  });

  test("without a ban that is active is 404 and names the address #unban-command-without-a-ban", async () => {
    await expectError(await server.post("/api/v1/unban", '{"ip":"2001:DB8::1"}'), 404, "no active ban for 2001:db8::1");
  });
});

describe.each(["ban", "unban"])("%s command", (name) => {
  const path = `/api/v1/${name}`;

  test.each([
    "",
    "192.0.2",
    "192.0.2.01",
    "192.0.2.1/32",
    " 192.0.2.1",
    "::ffff:192.0.2.1",
    "fe80::1%eth0",
    "example.net",
    "192.0.2.1\u0000",
  ])("of an invalid ip is 400: %p #ban-command-of-an-invalid-ip #unban-command-of-an-invalid-ip", async (ip) => {
    await expectRefusal(await server.post(path, JSON.stringify({ ip })), 400, `invalid ip: ${ip}`);
  });

  test("refuses a long text for an address, and gives back its beginning only", async () => {
    await expectRefusal(
      await server.post(path, JSON.stringify({ ip: "x".repeat(5000) })),
      400,
      `invalid ip: ${"x".repeat(100)}…`,
    );
  });

  test("refuses a long text whose hundredth character would be cut in two", async () => {
    const ip = `${"x".repeat(99)}😀😀`;
    await expectRefusal(await server.post(path, JSON.stringify({ ip })), 400, `invalid ip: ${"x".repeat(99)}\ufffd…`);
  });

  test.each([
    ["", "empty"],
    ["{}", "ip is required"],
    ['{"ip":7}', "ip must be a string"],
    ['{"ip":"192.0.2.1","ttl":5}', 'unknown field "ttl"'],
    ["[]", "not an object"],
    ["null", "not an object"],
    [new Uint8Array([0x7b, 0x22, 0xff]), "not UTF-8"],
  ])("refuses the body %p", async (body, detail) => {
    await expectRefusal(await server.post(path, body), 400, `invalid JSON body: ${detail}`);
  });
});

describe("GET", () => {
  test("/healthz says starting, then ok, as plain text without a newline #get-healthz", async () => {
    server.backend.ready = false;
    const starting = await server.get("/healthz");
    expect([starting.status, await starting.text()]).toEqual([503, "starting"]);
    server.backend.ready = true;
    const ready = await server.get("/healthz");
    expect([ready.status, await ready.text()]).toEqual([200, "ok"]);
    expect(ready.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  test("/metrics is open, and answers in the text exposition format, also while the service starts #get-metrics", async () => {
    server.backend.ready = false;
    const answer = await server.get("/metrics");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await answer.text()).toContain("# TYPE svc_api_requests_total counter");
  });

  test("/metrics counts requests by route, method and status #get-metrics", async () => {
    await server.get("/api/v1/status");
    await server.get("/nowhere");
    const text = await (await server.get("/metrics")).text();
    expect(text).toMatch(/^svc_api_requests_total\{route="status",method="GET",status="200"\} \d+$/m);
    expect(text).toMatch(/^svc_api_requests_total\{route="unknown",method="GET",status="404"\} \d+$/m);
    expect(text).toMatch(/^svc_api_request_duration_seconds_count\{route="status"\} \d+$/m);
    expect(text).not.toContain("nowhere");
  });
});
