/**
 * History of zones and their reported sources, statement by statement (docs/interface.md#edge-history), over a real
 * listener and SQLite. The reports of many nodes are in test/scenario/edge-sim.test.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { HistoryFault } from "../../src/http/backend.ts";
import { EdgeHistoryWire, EdgeSourcesWire } from "../../src/http/wire/edge/history.ts";
import { type ZoneWire, zoneWire } from "../fixtures/edge/edge-reports.ts";
import { EDGE_WORLD, EdgeWorld } from "../fixtures/edge/edge-world.ts";

const HISTORY = "/api/v1/edge/history";
const SOURCES = "/api/v1/edge/history/sources";
const REFUSED = 'svc_api_zone_refused_total{route="edge_history"}';
const refused = (status: number, error: string) => ({ status, body: { error } });

let world: EdgeWorld;

beforeEach(async () => {
  world = await EdgeWorld.withHistory();
});
afterEach(() => world.stop());

/** A window of the shop that ended at this time from now, seconds. */
const shop = (laterSeconds: number, changes: Partial<ZoneWire> = {}) =>
  zoneWire("shop.example", { at: world.time(laterSeconds), ...changes });
const source = (last: number, state: string, requests: number) => ({ source: `192.0.2.${last}`, state, requests });

async function report(node: string, ...zones: readonly ZoneWire[]): Promise<void> {
  expect((await world.report(node, { zones })).status).toBe(204);
}

async function bodyOf(path: string): Promise<object> {
  await world.recorded();
  return (await world.get(path)).body;
}

describe("edge history", () => {
  test("is {available, zone, step_seconds, points} with all counters of a point #edge-history-is", async () => {
    await report("e1", shop(-65, { decided: 9, denied: 8, status_2xx: 90, h3_requests: 50 }));
    await report("e2", shop(-70, { requests: 7, window_seconds: 9.5, status_5xx: 1 }));
    await report("e1", shop(-5, { requests: 3 }));
    const point = {
      ...{ ts: "2026-03-01T11:58:00.000Z", nodes: 2, window_seconds: 10, requests: 107, decided: 9, denied: 8 },
      ...{ challenged: 0, cleared: 0, would_deny: 0, would_challenge: 0, h3_requests: 50 },
      ...{ status_2xx: 90, status_3xx: 0, status_4xx: 0, status_5xx: 1 },
    };
    const body = await bodyOf(`${HISTORY}?zone=shop.example`);
    const points = [point, expect.objectContaining({ requests: 3 })];
    expect(body).toEqual({ available: true, zone: "shop.example", step_seconds: 60, points });
    expect([...Value.Errors(EdgeHistoryWire, body)]).toEqual([]);
  });

  test("has window_seconds of the longest time that any one node observed in the bucket #edge-history-has-window-seconds", async () => {
    for (const at of [-30, -20, -10]) await report("e1", shop(at, { requests: 100 }));
    await report("e2", shop(-15, { requests: 300, window_seconds: 20 }));
    expect(await world.points()).toMatchObject([{ nodes: 2, window_seconds: 30, requests: 600 }]);
  });

  test("has node only when it is filtered by it #edge-history-has-node", async () => {
    for (const [i, node] of ["e1", "e2"].entries()) await report(node, shop(-10, { requests: i + 1 }));
    const body = await bodyOf(`${HISTORY}?zone=shop.example&node=e2`);
    expect(body).toMatchObject({ node: "e2", points: [{ nodes: 1, requests: 2 }] });
  });

  test("keeps what was reported before the service learns of a reload", async () => {
    await report("e1", shop(-10));
    await world.recorded();
    world.configure({ ...EDGE_WORLD, nodes: [{ name: "e2" }] });
    expect(await world.points()).toMatchObject([{ requests: 100 }]);
  });
});

describe("edge sources", () => {
  beforeEach(async () => {
    await report("e1", shop(-30, { top_sources: [source(1, "would-deny", 5), source(2, "denied", 3)] }));
    await report("e1", shop(-20, { top_sources: [source(1, "challenged", 6)] }));
    await report("e2", shop(-10, { top_sources: [source(1, "would-challenge", 1), source(3, "allow", 9)] }));
  });

  test("are {available, zone, sources} with the strongest state over the range, busiest first #edge-sources-are", async () => {
    const body = await bodyOf(`${SOURCES}?zone=shop.example`);
    const [first_seen, last_seen] = [world.time(-30), world.time(-10)];
    const sources = [
      { ...source(1, "challenged", 12), windows: 3, nodes: 2, first_seen, last_seen },
      { ...source(2, "denied", 3), windows: 1, nodes: 1, first_seen, last_seen: first_seen },
    ];
    expect(body).toEqual({ available: true, zone: "shop.example", sources });
    expect([...Value.Errors(EdgeSourcesWire, body)]).toEqual([]);
  });

  test("echo the state that they are filtered by, which is their strongest #edge-sources-echo-the-state", async () => {
    const of = (state: string) => bodyOf(`${SOURCES}?zone=shop.example&state=${state}`);
    expect(await of("would-deny")).toEqual({ available: true, zone: "shop.example", state: "would-deny", sources: [] });
    expect(await of("challenged")).toMatchObject({ state: "challenged", sources: [{ windows: 3 }] });
  });
});

describe.each([
  ["GET /api/v1/edge/history #get-api-v1-edge-history", HISTORY],
  ["GET /api/v1/edge/history/sources #get-api-v1-edge-history-sources", SOURCES],
])("%s", (_, path) => {
  const ask = (query: string, token?: string) => world.get(`${path}?${query}`, token);

  test.each([
    ["", "zone is required: its name"],
    ["zone=", "zone is required: its name"],
    ["zone=shop.example&from=2026-03-01T12:00:00Z&to=2026-03-01T12:00:00Z", "to must be after from"],
    ["zone=shop.example&from=2026-01-01T00:00:00Z&to=2026-03-01T12:00:00Z", "time range too large (max 31 days)"],
    ["zone=shop.example&from=", "from must be an RFC 3339 time (a + in it is written %2B): "],
  ])("?%s is 400, also with storage off", async (query, error) => {
    expect(await ask(query)).toEqual(refused(400, error));
    world.server.backend.edgeHistory = null;
    expect(await ask(query)).toEqual(refused(400, error));
  });

  test("folds the zone to lower case, and is 404 for an unknown zone and an unknown node", async () => {
    expect((await ask("zone=SHOP.Example")).body).toMatchObject({ available: true, zone: "shop.example" });
    expect(await ask("zone=none.example")).toEqual(refused(404, "unknown zone"));
    expect(await ask("zone=shop.example&node=e9")).toEqual(refused(404, "unknown edge node"));
  });

  test("gives a tenant its own zones", async () => {
    await report("e1", shop(-10, { top_sources: [source(1, "denied", 1)] }));
    await world.recorded();
    const { body } = await ask("zone=shop.example", "acme");
    expect(body["points"] ?? body["sources"]).toHaveLength(1);
  });

  test("refuses a tenant any other zone in one way, counted, and logged once a minute", async () => {
    const outside = refused(403, "zone is outside your tenant");
    for (const zone of ["rival.example", "plain.example", "none.example", "x".repeat(3000)])
      expect(await ask(`zone=${zone}`, "acme")).toEqual(outside);
    world.configure({ ...EDGE_WORLD, zones: [] });
    expect(await ask("zone=shop.example", "acme")).toEqual(outside);
    expect(await world.metric(REFUSED)).toBe(5);
    expect(world.server.logged).toEqual([{ token_name: "acme", tenant: "acme", route: "edge_history", suppressed: 0 }]);
    world.server.clock.advance(60_000);
    await ask("zone=shop.example", "acme");
    expect(world.server.logged).toHaveLength(2);
  });

  test("refuses a tenant node=, and counts nothing", async () => {
    const unscoped = refused(403, "restricted to unscoped tokens");
    for (const query of ["zone=shop.example&node=e1", "zone=rival.example&node="])
      expect(await ask(query, "acme")).toEqual(unscoped);
    expect(await world.metric(REFUSED)).toBe(0);
  });

  test("with storage off answers alike to all tokens and zones, and counts and logs nothing", async () => {
    world.server.backend.edgeHistory = null;
    for (const token of ["eyes", "acme"])
      for (const zone of ["shop.example", "rival.example", "none.example"]) {
        const body = path === HISTORY ? { available: false, points: [] } : { available: false, zone, sources: [] };
        expect(await ask(`zone=${zone}`, token)).toEqual({ status: 200, body });
      }
    expect([await world.metric(REFUSED), world.server.logged]).toEqual([0, []]);
  });

  test("is 502 when the query fails, as that of events is", async () => {
    const fail = () => Promise.reject(new HistoryFault("broken"));
    world.server.backend.edgeHistory = { points: fail, sources: fail, events: fail };
    const broken = refused(502, "the history cannot be read");
    expect([await ask("zone=shop.example"), await world.get("/api/v1/edge/events")]).toEqual([broken, broken]);
  });
});

test.each(["0", "86401", ""])("GET /api/v1/edge/history?step=%s is 400 #get-api-v1-edge-history", async (step) => {
  const error = `step must be a whole number of seconds from 1 to 86400: ${step}`;
  expect(await world.get(`${HISTORY}?zone=shop.example&step=${step}`)).toEqual(refused(400, error));
});

test.each(["cleared", "marked", "allow", "", "Denied"])(
  "GET /api/v1/edge/history/sources?state=%s is 400 #get-api-v1-edge-history-sources",
  async (state) => {
    const error = `state must be one of denied, challenged, would-deny, would-challenge: ${state}`;
    expect(await world.get(`${SOURCES}?zone=shop.example&state=${state}`)).toEqual(refused(400, error));
  },
);
