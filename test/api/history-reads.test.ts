/**
 * The reads of the audit trail and of traffic (docs/interface.md#audit-reading), over a real listener. Ranges and steps
 * by themselves are in src/http/time-range.test.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { HistoryFault } from "../../src/http/backend.ts";
import { TrafficWire } from "../../src/http/wire/traffic/traffic.ts";
import { NOON } from "../fixtures/browser/views.ts";
import * as callers from "../fixtures/http/callers.ts";
import { expectError, TestServer } from "../fixtures/http/http.ts";

const HOUR = 3_600_000;
const LAST_HOUR = { fromMs: NOON - HOUR, toMs: NOON };
const KEY = `traffic?key=${callers.ACME_HOST}`;
const MEASURED = { pps: 1234.5678, mbps: 2, flowsPerSec: 3, inAttack: true };
const POINT = { atSeconds: NOON / 1000, ...MEASURED, baselinePps: null };

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  callers.admitCallers(server);
  server.backend.onTraffic = () => [POINT, { ...POINT, baselinePps: 100.00049 }];
  server.backend.onAudit = () => ({ available: true, events: [] });
});
afterEach(() => server.http.stop());

const get = (path: string, caller: callers.Caller = "viewer") =>
  fetch(`${server.base}/api/v1/${path}`, { headers: callers.as(caller) });
const questions = (): unknown[] => [...server.backend.auditQueries, ...server.backend.trafficQueries];

function storageOff(): void {
  server.backend.onTraffic = () => null;
  server.backend.onAudit = () => ({ available: false });
}

/** Anything that is wrong with the question by itself is told with storage off, too. */
async function expectRefused(path: string, status: number, error: string, caller?: callers.Caller): Promise<void> {
  await expectError(get(path, caller), status, error);
  storageOff();
  await expectError(get(path, caller), status, error);
  expect(questions()).toEqual([]);
}

describe("GET /api/v1/audit", () => {
  test.each<[string, object]>([
    ["", { range: LAST_HOUR, filters: { action: null, target: null }, tenant: null }],
    [
      "?from=2026-02-20T00:00:00Z&to=2026-02-21t00:00:00%2B01:00",
      { range: { fromMs: NOON - 228 * HOUR, toMs: NOON - 205 * HOUR } },
    ],
    ["?action=unban", { filters: { action: "unban" } }],
    ["?target=2001:DB8:0::1", { filters: { target: "2001:db8::1" } }],
    ["?action=nonsense&action=ban&limit=x", { filters: { action: "ban" } }],
  ])("asks for %s as %j", async (query, question) => {
    expect((await get(`audit${query}`)).status).toBe(200);
    expect(questions()).toMatchObject([question]);
  });

  test.each(["tenantViewer", "tenantOperator"] as const)(
    "is filtered on the server for a tenant: %s",
    async (caller) => {
      await get("audit", caller);
      expect(questions()).toMatchObject([{ tenant: "acme" }]);
    },
  );

  test.each([
    ["action=reboot", "unknown action: reboot"],
    ["action=", "unknown action: "],
    ["target=", "invalid ip: "],
    ["target=192.0.2.01", "invalid ip: 192.0.2.01"],
    ["from=2026-03-01T12:00:00Z&to=2026-03-01T12:00:00Z", "to must be after from"],
    ["to=yesterday", "to must be an RFC 3339 time (a + in it is written %2B): yesterday"],
  ])("?%s is 400, also with storage off", (query, error) => expectRefused(`audit?${query}`, 400, error));
});

describe("GET /api/v1/traffic", () => {
  test("is of one host over the last hour by the minute, incoming, where no more is said", async () => {
    const wire: unknown = await (await get(KEY)).json();
    expect([...Value.Errors(TrafficWire, wire)]).toEqual([]);
    const point = { ts: "2026-03-01T12:00:00.000Z", pps: 1234.568, mbps: 2, flows_per_sec: 3, in_attack: true };
    const asked = { key: callers.ACME_HOST, direction: "incoming" };
    const points = [point, { ...point, baseline_pps: 100 }];
    expect(wire).toEqual({ available: true, ...asked, step_seconds: 60, points });
    expect(questions()).toEqual([{ ...asked, ...LAST_HOUR, stepSeconds: 60 }]);
  });

  test("takes key in any spelling, direction, range and step", async () => {
    await get("traffic?key=2001:DB8:0::1&direction=outgoing&from=2026-02-28T12:00:00Z&step=300");
    const range = { fromMs: NOON - 24 * HOUR, toMs: NOON };
    expect(questions()).toEqual([{ key: "2001:db8::1", direction: "outgoing", ...range, stepSeconds: 300 }]);
  });

  test("with storage disabled is not available and has no points", async () => {
    storageOff();
    const answer = await get(KEY);
    expect([answer.status, await answer.text()]).toEqual([200, '{"available":false,"points":[]}']);
  });

  test.each([
    ["traffic", "key is required: the address of a host"],
    ["traffic?key=", "invalid ip: "],
    ["traffic?key=192.0.2.0/24", "invalid ip: 192.0.2.0/24"],
    [`${KEY}&direction=sideways`, "direction must be incoming or outgoing: sideways"],
    [`${KEY}&direction=`, "direction must be incoming or outgoing: "],
    [`${KEY}&step=0`, "step must be a whole number of seconds from 1 to 86400: 0"],
    [`${KEY}&from=2026-03-01T13:00:00Z`, "to must be after from"],
  ])("/%s is 400, also with storage off", (path, error) => expectRefused(path, 400, error));
});

test.each([callers.OTHER_HOST, callers.UNOWNED_HOST, callers.OUTSIDE_HOST])(
  "tenant traffic of the foreign key %s is the uniform 403, after bad input, and nothing is read",
  async (key) => {
    expect((await get(`traffic?key=${key}&step=x`, "tenantViewer")).status).toBe(400);
    await expectRefused(`traffic?key=${key}`, 403, "target is outside your tenant", "tenantViewer");
  },
);

test.each([KEY, "audit"])("error 502 for a history that fails: %s", async (path) => {
  const fail = () => {
    throw new HistoryFault("SQLITE_CORRUPT: /var/lib/floodwall/history.db");
  };
  server.backend.onTraffic = fail;
  server.backend.onAudit = fail;
  await expectError(get(path), 502, "the history cannot be read");
});
