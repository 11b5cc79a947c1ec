/** GET /api/v1/traffic (docs/interface.md#traffic), over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { HistoryFault } from "../../src/http/backend.ts";
import { TrafficWire } from "../../src/http/wire/traffic.ts";
import type { TrafficPoint } from "../../src/traffic/traffic-history.ts";
import { NOON } from "../fixtures/browser/views.ts";
import {
  ACME_HOST,
  admitCallers,
  as,
  type Caller,
  OTHER_HOST,
  OUTSIDE_HOST,
  UNOWNED_HOST,
} from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";

const POINT: TrafficPoint = {
  atSeconds: NOON / 1000,
  pps: 1234.5678,
  mbps: 2,
  flowsPerSec: 3,
  inAttack: true,
  baselinePps: null,
};
const HOUR = 3_600_000;

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
  server.backend.onTraffic = () => [POINT];
});
afterEach(() => server.http.stop());

const traffic = (query: string, caller: Caller = "viewer") =>
  fetch(`${server.base}/api/v1/traffic${query}`, { headers: as(caller) });
const questions = () => server.backend.trafficQueries;

describe("GET /api/v1/traffic", () => {
  test("is of one host over the last hour by the minute, incoming, where no more is said", async () => {
    const answer = await traffic(`?key=${ACME_HOST}`);
    const wire: unknown = await answer.json();
    expect([...Value.Errors(TrafficWire, wire)]).toEqual([]);
    expect(wire).toEqual({
      available: true,
      key: ACME_HOST,
      direction: "incoming",
      step_seconds: 60,
      points: [{ ts: "2026-03-01T12:00:00.000Z", pps: 1234.568, mbps: 2, flows_per_sec: 3, in_attack: true }],
    });
    const question = { key: ACME_HOST, direction: "incoming", fromMs: NOON - HOUR, toMs: NOON, stepSeconds: 60 };
    expect(questions() as unknown[]).toEqual([question]);
  });

  test("has the learned normal where there is one", async () => {
    server.backend.onTraffic = () => [{ ...POINT, baselinePps: 100.00049 }];
    expect(await (await traffic(`?key=${ACME_HOST}`)).json()).toMatchObject({ points: [{ baseline_pps: 100 }] });
  });

  test("takes key in any spelling, direction, range and step", async () => {
    await traffic("?key=2001:DB8:0::1&direction=outgoing&from=2026-02-28T12:00:00Z&step=300");
    expect(questions()).toMatchObject([
      { key: "2001:db8::1", direction: "outgoing", fromMs: NOON - 24 * HOUR, toMs: NOON, stepSeconds: 300 },
    ]);
  });

  test("with storage disabled is not available and has no points", async () => {
    server.backend.onTraffic = () => null;
    const answer = await traffic(`?key=${ACME_HOST}`);
    expect([answer.status, await answer.text()]).toEqual([200, '{"available":false,"points":[]}']);
  });

  test.each([
    ["", "key is required: the address of a host"],
    ["?key=", "invalid ip: "],
    ["?key=192.0.2.0/24", "invalid ip: 192.0.2.0/24"],
    [`?key=${ACME_HOST}&direction=sideways`, "direction must be incoming or outgoing: sideways"],
    [`?key=${ACME_HOST}&direction=`, "direction must be incoming or outgoing: "],
    [`?key=${ACME_HOST}&step=0`, "step must be a whole number of seconds from 1 to 86400: 0"],
    [`?key=${ACME_HOST}&step=86401`, "step must be a whole number of seconds from 1 to 86400: 86401"],
    [`?key=${ACME_HOST}&from=2026-03-01T13:00:00Z`, "to must be after from"],
    [`?key=${ACME_HOST}&from=2026-01-29T11:59:59Z`, "time range too large (max 31 days)"],
  ])("%s is 400, also with storage off", async (query, error) => {
    for (const points of [[], null]) {
      server.backend.onTraffic = () => points;
      const answer = await traffic(query);
      expect([answer.status, await answer.json()]).toEqual([400, { error }]);
    }
    expect(questions()).toEqual([]);
  });

  test("that fails is 502", async () => {
    server.backend.onTraffic = () => {
      throw new HistoryFault("database is locked");
    };
    const answer = await traffic(`?key=${ACME_HOST}`);
    expect([answer.status, await answer.json()]).toEqual([502, { error: "the history cannot be read" }]);
  });
});

describe("tenant traffic", () => {
  test("is that of its own hosts", async () => {
    expect((await traffic(`?key=${ACME_HOST}`, "tenantViewer")).status).toBe(200);
  });

  test.each([OTHER_HOST, UNOWNED_HOST, OUTSIDE_HOST])(
    "of the foreign key %s is the uniform 403, also with storage off, and nothing is read",
    async (key) => {
      server.backend.onTraffic = () => null;
      const answer = await traffic(`?key=${key}`, "tenantViewer");
      expect([answer.status, await answer.text()]).toEqual([403, '{"error":"target is outside your tenant"}']);
      expect(questions()).toEqual([]);
    },
  );

  test("of a foreign key with a bad range is told of the range: bad input comes before the tenant", async () => {
    expect((await traffic(`?key=${OTHER_HOST}&step=x`, "tenantViewer")).status).toBe(400);
  });
});
