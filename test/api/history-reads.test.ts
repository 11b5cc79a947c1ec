/**
 * The reads of the audit trail and of traffic (docs/interface.md#audit-reading), over a real listener. Ranges and steps
 * by themselves are in src/http/time-range.test.ts.
 */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { NO_ATTACK_FILTERS } from "../../src/detection/attack/attack.ts";
import { HistoryFault } from "../../src/http/backend.ts";
import { EndedAttacksWire } from "../../src/http/wire/attack.ts";
import { PartTrafficWire, TopTrafficWire } from "../../src/http/wire/traffic/top-traffic.ts";
import { TotalTrafficWire, TrafficWire } from "../../src/http/wire/traffic/traffic.ts";
import { address } from "../fixtures/host-rows.ts";
import * as callers from "../fixtures/http/callers.ts";
import { expectError, TestServer } from "../fixtures/http/http.ts";
import { NO_AUDIT_FILTERS } from "../fixtures/storage/history.ts";
import { attack, NOON } from "../fixtures/views.ts";

const HOUR = 3_600_000;
const LAST_HOUR = { fromMs: NOON - HOUR, toMs: NOON };
const KEY = `traffic?key=${callers.ACME_HOST}`;
const EXACT = { deviationPps: 0, deviationMbps: 0, deviationFlowsPerSec: 0 };
const HIGHEST = { maxPps: 9999.9999, maxMbps: 20, maxFlowsPerSec: 30, ...EXACT };
const MEASURED = { seconds: 59.99, pps: 1234.5678, mbps: 2, flowsPerSec: 3, ...HIGHEST, inAttack: true };
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

/** Anything that is wrong with the question by itself is refused with storage off, too. */
async function expectRefused(path: string, status: number, error: string, caller?: callers.Caller): Promise<void> {
  await expectError(get(path, caller), status, error);
  storageOff();
  await expectError(get(path, caller), status, error);
  expect(questions()).toEqual([]);
}

describe("GET /api/v1/attacks/history #get-api-v1-attacks-history", () => {
  const ended = (id: string, endedAt = NOON - 1000, target = callers.ACME_HOST) => ({
    attack: attack({ id, target: address(target), endedAt }),
    ban: null,
  });
  const read = async (query = "", caller?: callers.Caller) =>
    (await (await get(`attacks/history${query}`, caller)).json()) as EndedAttacksWire;

  test("asks for the range, the address and the caller's own", async () => {
    await read("?from=2026-03-01T10:00:00Z&target=2001:DB8:0::1&to_id=a7&group=web");
    await read("", "tenantViewer");
    expect(server.backend.endedAttacksQueries).toEqual([
      {
        range: { fromMs: NOON - 2 * HOUR, toMs: NOON },
        toId: "a7",
        filters: { target: address("2001:db8::1"), group: "web", tenant: null },
        tenant: null,
        limit: 101,
      },
      { range: LAST_HOUR, toId: null, filters: NO_ATTACK_FILTERS, tenant: "acme", limit: 101 },
    ]);
  });

  test.each([-1, 0, 1])("has a page of 100 and %d attacks, and says where the next begins", async (more) => {
    server.backend.onEndedAttacks = ({ limit }) =>
      Array.from({ length: 100 + more }, (_, i) => ended(`a${i}`, NOON - i * 1000)).slice(0, limit);
    const answer = await read();
    expect(Value.Check(EndedAttacksWire, answer)).toBe(true);
    expect(answer.attacks.length).toBe(Math.min(100, 100 + more));
    expect(answer.next).toEqual(more > 0 ? { to: "2026-03-01T11:58:20.000Z", to_id: "a100" } : undefined);
  });

  test("a tenant sees none of an address that is not its own any more", async () => {
    server.backend.onEndedAttacks = () => [ended("a1"), ended("a2", NOON - 2000, callers.OTHER_HOST)];
    expect((await read("", "tenantViewer")).attacks.map(({ id }) => id)).toEqual(["a1"]);
    expect((await read()).attacks.map(({ id }) => id)).toEqual(["a1", "a2"]);
  });

  test("says that storage is off, after what is wrong with the question", async () => {
    server.backend.onEndedAttacks = () => null;
    expect(await read()).toEqual({ available: false, attacks: [] });
    await expectError(get("attacks/history?target=me"), 400, "invalid ip: me");
    await expectError(
      get("attacks/history?from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z"),
      400,
      "to must be after from",
    );
  });
});

describe("GET /api/v1/audit #get-api-v1-audit", () => {
  test.each<[string, object]>([
    ["", { range: LAST_HOUR, filters: NO_AUDIT_FILTERS, tenant: null }],
    [
      "?from=2026-02-20T00:00:00Z&to=2026-02-21t00:00:00%2B01:00",
      { range: { fromMs: NOON - 228 * HOUR, toMs: NOON - 205 * HOUR } },
    ],
    ["?action=unban", { filters: { action: "unban" } }],
    ["?target=2001:DB8:0::1", { filters: { target: "2001:db8::1" } }],
    ["?action=nonsense&action=ban", { filters: { action: "ban" } }],
    [
      "?operator=anna&result=rejected&tenant=acme",
      { filters: { operator: "anna", result: "rejected", tenant: "acme" } },
    ],
    ["?target=192.0.2.7/24", { filters: { target: { text: "192.0.2.0/24" } } }],
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
    ["operator=", "operator must not be empty"],
    ["tenant=", "tenant must not be empty"],
    ["from=2026-03-01T12:00:00Z&to=2026-03-01T12:00:00Z", "to must be after from"],
    ["to=yesterday", "to must be an RFC 3339 time (a + in it is written %2B): yesterday"],
  ])("?%s is 400, also with storage off", (query, error) => expectRefused(`audit?${query}`, 400, error));
});

describe("GET /api/v1/traffic #get-api-v1-traffic", () => {
  test("is of one host over the last hour by the minute, incoming, where no more is said", async () => {
    const wire: unknown = await (await get(KEY)).json();
    expect([...Value.Errors(TrafficWire, wire)]).toEqual([]);
    const mean = { seconds: 59.99, pps: 1234.568, mbps: 2, flows_per_sec: 3 };
    const highest = { max_pps: 10_000, max_mbps: 20, max_flows_per_sec: 30 };
    const point = { ts: "2026-03-01T12:00:00.000Z", ...mean, ...highest, in_attack: true };
    const asked = { key: callers.ACME_HOST, direction: "incoming" };
    const points = [point, { ...point, baseline_pps: 100 }];
    expect(wire).toEqual({ available: true, ...asked, step_seconds: 60, points });
    expect(questions()).toEqual([{ ...asked, ...LAST_HOUR, stepSeconds: 60 }]);
  });

  test("the highest rates of sampled traffic have the error of the highest of many estimates #traffic-max-sampling-error", async () => {
    // 60 samples of 1000 packets in the window, over 300 s.
    const sampled = { seconds: 300, maxPps: 60_000, deviationPps: 1000 * Math.sqrt(60) };
    server.backend.onTraffic = () => [POINT, { ...POINT, ...sampled }];
    const { points } = (await (await get(KEY)).json()) as TrafficWire;
    expect(points[0]).not.toHaveProperty("max_sampling_error");
    // Of one estimate it were 0.253.
    expect(points[1]?.max_sampling_error?.pps).toBeCloseTo(4.305 / Math.sqrt(60), 3);
    expect(points[1]?.max_sampling_error).toMatchObject({ mbps: 0, flows_per_sec: 0 });
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

describe("GET /api/v1/traffic/total #get-api-v1-traffic-total", () => {
  test("traffic total is of all hosts, with the means of the protocols", async () => {
    server.backend.onTraffic = ({ key }) => {
      if (key === "total") return [POINT];
      return key === "total udp" ? [{ ...POINT, pps: 1000, mbps: 1.5 }] : [];
    };
    const wire: unknown = await (await get("traffic/total?step=10")).json();
    expect([...Value.Errors(TotalTrafficWire, wire)]).toEqual([]);
    const none = { pps: 0, mbps: 0 };
    expect(wire).toMatchObject({
      available: true,
      direction: "incoming",
      step_seconds: 10,
      points: [
        { pps: 1234.568, max_pps: 10_000, seconds: 59.99, udp: { pps: 1000, mbps: 1.5 }, tcp: none, icmp: none },
      ],
    });
    expect(questions()).toMatchObject([{ ...LAST_HOUR, key: "total", stepSeconds: 10 }, {}, {}, {}]);
  });

  test.each([
    ["global", "tenantViewer"],
    ["nosuch", "tenantViewer"],
    ["nosuch", "viewer"],
  ] as const)("the hostgroup %s is not one of the configuration for the %s, also with storage off", (name, caller) =>
    expectRefused(
      `traffic/total?hostgroup=${name}`,
      400,
      `hostgroup must be one of the configuration: ${name}`,
      caller,
    ),
  );

  test("with storage disabled is not available and has no points", async () => {
    storageOff();
    expect(await (await get("traffic/total")).text()).toBe('{"available":false,"points":[]}');
  });
});

test("traffic total of a tenant is of its hosts #traffic-total-of-a-tenant", async () => {
  await get("traffic/total?direction=outgoing", "tenantViewer");
  const keys = ["total of acme", "total udp of acme", "total tcp of acme", "total icmp of acme"];
  expect(questions()).toMatchObject(keys.map((key) => ({ key, direction: "outgoing" })));
});

test("traffic of a hostgroup is of its hosts, also for the tenant that owns it #traffic-of-a-hostgroup", async () => {
  await get("traffic/total?hostgroup=web");
  await get("traffic/total?hostgroup=web", "tenantViewer");
  const keys = ["hostgroup: web", "hostgroup udp: web", "hostgroup tcp: web", "hostgroup icmp: web"];
  expect(questions()).toMatchObject([...keys, ...keys].map((key) => ({ key, direction: "incoming" })));
});

test("traffic top with storage disabled is not available and has no parts #traffic-top", async () => {
  storageOff();
  expect(await (await get("traffic/top?by=country")).text()).toBe('{"available":false,"parts":[]}');
});

describe("GET /api/v1/traffic/top #get-api-v1-traffic-top", () => {
  test("has the largest parts, and all traffic beside them", async () => {
    const asked: unknown[] = [];
    server.backend.onTraffic = () => [POINT, { ...POINT, atSeconds: POINT.atSeconds + 60, pps: 0, mbps: 0 }];
    server.backend.onTrafficTop = (question) => {
      asked.push(question);
      return [{ key: "AS64500 Example Net", pps: 1000.12345, mbps: 8 }];
    };
    const wire: unknown = await (await get("traffic/top?by=asn&limit=3")).json();
    expect([...Value.Errors(TopTrafficWire, wire)]).toEqual([]);
    expect(wire).toEqual({
      available: true,
      by: "asn",
      total: { pps: 617.284, mbps: 1 },
      parts: [{ key: "AS64500 Example Net", pps: 1000.123, mbps: 8 }],
    });
    expect(asked).toMatchObject([{ ...LAST_HOUR, by: "asn", limit: 3 }]);
  });

  test.each([
    ["asn", "samples.asn_file is not set, and no exporter of flow telemetry is configured"],
    ["country", "samples.country_file is not set"],
    ["exporter", "no exporter of flow telemetry is configured"],
    ["interface", "no exporter of flow telemetry is configured"],
    ["prefix", undefined],
  ])("by %s without parts says what the configuration lacks: %p #traffic-top-reason", async (by, reason) => {
    server.backend.onTraffic = () => [POINT];
    server.backend.onTrafficTop = () => [];
    const wire = (await (await get(`traffic/top?by=${by}`)).json()) as { parts: unknown[]; reason?: string };
    expect(Value.Check(TopTrafficWire, wire)).toBe(true);
    expect([wire.parts, wire.reason]).toEqual([[], reason]);
  });

  test.each([
    ["traffic/top", "by must be one of asn, country, prefix, interface, exporter, src_port, dst_port: it is absent"],
    ["traffic/top?by=port", "by must be one of asn, country, prefix, interface, exporter, src_port, dst_port: port"],
    ["traffic/top?by=asn&limit=0", "limit must be a whole number from 1 to 100: 0"],
    ["traffic/top?by=asn&limit=101", "limit must be a whole number from 1 to 100: 101"],
    ["traffic/top?by=asn&from=2026-03-01T13:00:00Z", "to must be after from"],
  ])("/%s is 400", (path, error) => expectRefused(path, 400, error));
});

test.each([
  ["exporter", "edge1"],
  ["src_port", "53"],
  ["dst_port", "443"],
] as const)("traffic top and part by %s are of its own series #traffic-top-exporter", async (by, key) => {
  server.backend.onTraffic = () => [POINT];
  server.backend.onTrafficTop = (query) => (query.by === by && query.limit === 10 ? [{ key, pps: 90, mbps: 9 }] : []);
  const top = (await (await get(`traffic/top?by=${by}`)).json()) as TopTrafficWire;
  expect([...Value.Errors(TopTrafficWire, top)]).toEqual([]);
  expect([top.by, top.parts]).toEqual([by, [{ key, pps: 90, mbps: 9 }]]);
  const part = (await (await get(`traffic/part?by=${by}&key=${key}`)).json()) as PartTrafficWire;
  expect([...Value.Errors(PartTrafficWire, part)]).toEqual([]);
  expect(part).toMatchObject({ by, key });
});

describe("GET /api/v1/traffic/part #get-api-v1-traffic-part", () => {
  test("has one part over time, whatever is in its name #traffic-part", async () => {
    server.backend.onTraffic = () => [POINT];
    const query = new URLSearchParams({ by: "asn", key: "AS64500 Example, Inc.: 1", step: "300" });
    const wire: unknown = await (await get(`traffic/part?${String(query)}`)).json();
    expect([...Value.Errors(PartTrafficWire, wire)]).toEqual([]);
    expect(wire).toMatchObject({
      available: true,
      by: "asn",
      key: "AS64500 Example, Inc.: 1",
      step_seconds: 300,
      points: [{ pps: 1234.568, mbps: 2, seconds: 59.99 }],
    });
    const series = { key: "by asn: AS64500 Example, Inc.: 1", direction: "incoming", stepSeconds: 300 };
    expect(questions()).toMatchObject([{ ...LAST_HOUR, ...series }]);
  });

  test("with storage disabled is not available and has no points #traffic-part", async () => {
    storageOff();
    expect(await (await get("traffic/part?by=country&key=DE")).text()).toBe('{"available":false,"points":[]}');
  });

  const ABSENT = "key is required: 1 to 200 characters";
  test.each([
    [
      "traffic/part?key=DE",
      "by must be one of asn, country, prefix, interface, exporter, src_port, dst_port: it is absent",
    ],
    ["traffic/part?by=country", ABSENT],
    ["traffic/part?by=country&key=", ABSENT],
    [`traffic/part?by=country&key=${"x".repeat(201)}`, ABSENT],
    ["traffic/part?by=country&key=DE&from=2026-03-01T13:00:00Z", "to must be after from"],
  ])("/%s is 400", (path, error) => expectRefused(path, 400, error));

  test("a key of 200 characters is taken", async () => {
    server.backend.onTraffic = () => [];
    expect((await get(`traffic/part?by=asn&key=${"x".repeat(200)}`)).status).toBe(200);
  });
});

test.each([callers.OTHER_HOST, callers.UNOWNED_HOST, callers.OUTSIDE_HOST])(
  "traffic of the foreign key %s is the uniform 403, after bad input, and nothing is read #tenant-traffic",
  async (key) => {
    expect((await get(`traffic?key=${key}&step=x`, "tenantViewer")).status).toBe(400);
    await expectRefused(`traffic?key=${key}`, 403, "target is outside your tenant", "tenantViewer");
  },
);

test.each([KEY, "audit"])("a history that fails is 502: %s #error-502", async (path) => {
  const fail = () => {
    throw new HistoryFault("SQLITE_CORRUPT: /var/lib/floodwall/history.db");
  };
  server.backend.onTraffic = fail;
  server.backend.onAudit = fail;
  await expectError(get(path), 502, "the history cannot be read");
});
