/** Reading the audit trail (docs/interface.md#audit-reading), over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { AuditEvent } from "../../src/audit/audit-event.ts";
import { HistoryFault } from "../../src/http/backend.ts";
import { AuditWire } from "../../src/http/wire/audit.ts";
import { NOON } from "../fixtures/browser/views.ts";
import { ACME_HOST, admitCallers, as, type Caller } from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";

const EVENT: AuditEvent = {
  wallMs: NOON + 1234,
  action: "ban",
  result: "active",
  operator: "operator",
  role: "operator",
  tenant: "",
  target: ACME_HOST,
  targetType: "host",
  reason: "",
  source: "api",
  banState: "active",
  dryRun: true,
};
const HOUR = 3_600_000;

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
  server.backend.onAudit = () => ({ available: true, events: [EVENT] });
});
afterEach(() => server.http.stop());

const audit = (query = "", caller: Caller = "viewer") =>
  fetch(`${server.base}/api/v1/audit${query}`, { headers: as(caller) });

async function eventOnWire(changes: Partial<AuditEvent> = {}): Promise<Record<string, unknown>> {
  server.backend.onAudit = () => ({ available: true, events: [{ ...EVENT, ...changes }] });
  const wire = (await (await audit()).json()) as { events: Record<string, unknown>[] };
  expect([...Value.Errors(AuditWire, wire)]).toEqual([]);
  return wire.events[0] ?? {};
}

test("audit available and events are the answer's two fields", async () => {
  const wire = (await (await audit()).json()) as Record<string, unknown>;
  expect(Object.keys(wire)).toEqual(["available", "events"]);
  expect(wire["available"]).toBe(true);
});

test("audit event_time is YYYY-MM-DD HH:MM:SS, not RFC 3339", async () => {
  expect(await eventOnWire()).toMatchObject({ event_time: "2026-03-01 12:00:01" });
});

test.each(["ban", "unban", "config_reload", "source_block", "source_unblock", "edge_challenge"] as const)(
  "audit action may be %s",
  async (action) => {
    expect(await eventOnWire({ action })).toMatchObject({ action });
  },
);

test.each([
  ["result", { result: "rejected" }, "rejected"],
  ["operator", { operator: "" }, ""],
  ["role", { role: "viewer" }, "viewer"],
  ["tenant", { tenant: "acme" }, "acme"],
  ["target", { target: "198.51.100.1->192.0.2.1" }, "198.51.100.1->192.0.2.1"],
  ["target_type", { targetType: "source" }, "source"],
  ["reason", { reason: "whitelisted" }, "whitelisted"],
  ["source", { source: "signal" }, "signal"],
  ["ban_state", { banState: "rejected" }, "rejected"],
] as [string, Partial<AuditEvent>, string][])("audit %s of an event is as recorded", async (field, changes, value) => {
  expect(await eventOnWire(changes)).toMatchObject({ [field]: value });
});

test.each([
  [true, 1],
  [false, 0],
])("audit dry_run is an integer: %p is %d", async (dryRun, number) => {
  expect(await eventOnWire({ dryRun })).toMatchObject({ dry_run: number });
});

describe("GET /api/v1/audit", () => {
  const questions = () => server.backend.auditQueries;

  test("is of the last hour, everyone's and every action's, where nothing is said", async () => {
    await audit();
    expect(questions()).toMatchObject([
      { range: { fromMs: NOON - HOUR, toMs: NOON }, filters: { action: null, target: null }, tenant: null },
    ]);
  });

  test("takes from and to", async () => {
    await audit("?from=2026-02-20T00:00:00Z&to=2026-02-21t00:00:00%2B01:00");
    expect(questions()).toMatchObject([{ range: { fromMs: Date.UTC(2026, 1, 20), toMs: Date.UTC(2026, 1, 20, 23) } }]);
  });

  test("takes an action", async () => {
    await audit("?action=unban");
    expect(questions()).toMatchObject([{ filters: { action: "unban" } }]);
  });

  test.each(["2001:DB8:0::1", "2001:db8::1"])("takes the target %s in its one spelling", async (target) => {
    await audit(`?target=${target}`);
    expect(questions()).toMatchObject([{ filters: { target: "2001:db8::1" } }]);
  });

  test("lets the last of equal keys count and ignores keys that it does not know", async () => {
    expect((await audit("?action=nonsense&action=ban&limit=x")).status).toBe(200);
    expect(questions()).toMatchObject([{ filters: { action: "ban" } }]);
  });

  test.each(["tenantViewer", "tenantOperator"] as const)(
    "is filtered on the server for a tenant: %s",
    async (caller) => {
      await audit("", caller);
      expect(questions()).toMatchObject([{ tenant: "acme" }]);
    },
  );

  test("keeps the order that it is given, newest first", async () => {
    const events = [3, 2, 1].map((second) => ({ ...EVENT, wallMs: NOON + second * 1000 }));
    server.backend.onAudit = () => ({ available: true, events });
    const wire = (await (await audit()).json()) as { events: { event_time: string }[] };
    expect(wire.events.map(({ event_time }) => event_time.slice(-2))).toEqual(["03", "02", "01"]);
  });

  test("is an empty array where there is nothing, never null", async () => {
    server.backend.onAudit = () => ({ available: true, events: [] });
    expect(await (await audit()).text()).toBe('{"available":true,"events":[]}');
  });

  test("with storage off says so", async () => {
    server.backend.onAudit = () => ({ available: false });
    const answer = await audit();
    expect([answer.status, await answer.text()]).toEqual([200, '{"available":false,"events":[]}']);
  });

  test.each([
    ["?action=reboot", "unknown action: reboot"],
    ["?action=", "unknown action: "],
    ["?target=", "invalid ip: "],
    ["?target=192.0.2.01", "invalid ip: 192.0.2.01"],
    ["?from=2026-03-01T12:00:00Z&to=2026-03-01T12:00:00Z", "to must be after from"],
    ["?from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z", "time range too large (max 31 days)"],
    ["?from=", "from must be an RFC 3339 time (a + in it is written %2B): "],
    ["?to=yesterday", "to must be an RFC 3339 time (a + in it is written %2B): yesterday"],
  ])("%s is 400, also with storage off", async (query, error) => {
    for (const available of [true, false]) {
      server.backend.onAudit = () => (available ? { available, events: [] } : { available });
      const answer = await audit(query);
      expect([answer.status, await answer.json()]).toEqual([400, { error }]);
    }
    expect(questions()).toEqual([]);
  });

  test("that fails is 502 without a word of why", async () => {
    server.backend.onAudit = () => {
      throw new HistoryFault("no such table: audit");
    };
    const answer = await audit();
    expect([answer.status, await answer.json()]).toEqual([502, { error: "the history cannot be read" }]);
  });
});
