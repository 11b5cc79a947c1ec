/** What has changed in the fleet, statement by statement (docs/interface.md#edge-events), over SQLite. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { EDGE_EVENT_KINDS } from "../../src/edge/reports/edge-history.ts";
import { EdgeEventsWire } from "../../src/http/wire/edge/history.ts";
import { HISTORY_ROWS_MAX } from "../../src/limits.ts";
import { zoneWire } from "../fixtures/edge/edge-reports.ts";
import { EDGE_WORLD, EdgeWorld, type Json } from "../fixtures/edge/edge-world.ts";

const PATH = "/api/v1/edge/events";

let world: EdgeWorld;

beforeEach(async () => {
  world = await EdgeWorld.withHistory();
});
afterEach(() => world.stop());

const kinds = (events: readonly Json[]) => events.map(({ kind }) => kind);
const advance = (seconds: number) => world.server.clock.advance(seconds * 1000);

/** The events that the second of two reports of e1 brings. */
async function eventsOf(first: object, second: object): Promise<Json[]> {
  await world.report("e1", first);
  await world.report("e1", second);
  return world.events();
}

const cert = (not_after = "2026-06-01T00:00:00Z") => ({ zone: "shop.example", not_after });
const challenged = () => zoneWire("shop.example", { at: world.time(), challenge_active: { reason: "rps" } });

describe("edge event of kind", () => {
  const event = (kind: string, detail: string, zone?: string) => ({
    event_time: world.time(),
    node: "e1",
    ...(zone === undefined ? {} : { zone }),
    kind,
    detail,
  });

  const h3 = (state: string) => ({ terminator: { h3: { state } } });
  const alive = (is: boolean) => ({ terminator: { alive: is } });
  test.each<[string, object, object, string]>([
    ["version", { version: "1" }, { version: "2" }, "from 1 to 2"],
    ["dry_run", { dry_run: false }, { dry_run: true }, "on"],
    ["document_rendered", { zones_etag: '"a"' }, { zones_etag: '"b"' }, '"b"'],
    ["terminator_alive", alive(true), alive(false), "not alive"],
    ["h3_state", h3("unknown"), h3("ready"), "from unknown to ready"],
    ["report_truncated", {}, { zones_truncated: 2 }, "left out: 2 zones, 0 certificates, 0 sources"],
  ])("%s is told of, from %j to %j", async (kind, first, second, detail) => {
    expect(await eventsOf(first, second)).toEqual([event(kind, detail)]);
  });

  test("generation_installed and generation_refused tell of the live generation", async () => {
    await world.report("e1", { terminator: { generation: 1, test_ok: true } });
    await world.report("e1", { terminator: { generation: 2, test_ok: true } });
    advance(10);
    await world.report("e1", { terminator: { generation: 2, test_ok: false, test_error: "line 3" } });
    expect(await world.events()).toEqual([
      event("generation_refused", "line 3"),
      { ...event("generation_installed", "2"), event_time: world.time(-10) },
    ]);
  });

  test("cert_issued, cert_renewed and cert_gone tell of a zone's certificate", async () => {
    for (const certs of [[], [cert()], [cert("2026-09-01T00:00:00Z")], []]) {
      await world.report("e1", { certs });
      advance(10);
    }
    const events = await world.events();
    expect(events.map(({ kind, zone }) => [kind, zone])).toEqual([
      ["cert_gone", "shop.example"],
      ["cert_renewed", "shop.example"],
      ["cert_issued", "shop.example"],
    ]);
  });

  test("challenge_started and challenge_ended tell of a zone-wide challenge", async () => {
    await world.report("e1", { zones: [zoneWire("shop.example", { at: world.time() })] });
    await world.report("e1", { zones: [challenged()] });
    advance(10);
    await world.report("e1", { zones: [zoneWire("shop.example", { at: world.time() })] });
    expect(await world.events()).toEqual([
      event("challenge_ended", "", "shop.example"),
      { ...event("challenge_started", "rps", "shop.example"), event_time: world.time(-10) },
    ]);
  });

  test("clock_skew tells that a node's clock is off, once", async () => {
    await world.report("e1", { zones: [zoneWire("shop.example", { at: world.time() })] });
    for (const at of [-601, 61])
      await world.report("e1", { zones: [zoneWire("shop.example", { at: world.time(at) })] });
    expect(kinds(await world.events())).toEqual(["clock_skew"]);
  });

  test("node_lost and node_alive tell of presence", async () => {
    await world.seen("e1");
    advance(15.5);
    expect(await world.events()).toMatchObject([{ kind: "node_lost", node: "e1" }]);
    advance(100);
    await world.seen("e1");
    advance(1);
    const events = await world.events();
    expect(events).toMatchObject([
      { kind: "node_alive", node: "e1" },
      { kind: "node_lost", node: "e1" },
    ]);
    expect(events[0]).not.toHaveProperty("zone");
  });
});

describe("edge event rules:", () => {
  test("the first report after the start is a silent baseline, and so is one that says the same", async () => {
    const report = {
      version: "1",
      terminator: { alive: false, test_ok: false, generation: 3, h3: { state: "node_off" } },
      certs: [cert()],
      zones: [zoneWire("shop.example", { at: "2020-01-01T00:00:00Z", challenge_active: {} })],
      zones_truncated: 9,
    };
    expect(await eventsOf(report, report)).toEqual([]);
  });

  test("presence is baselined at the first poll", async () => {
    advance(14);
    await world.seen("e1");
    advance(1);
    expect(await world.events()).toEqual([]);
  });

  test("a node that is down across a start has no event until it returns, and its first one is node_alive", async () => {
    advance(3600);
    expect(await world.events()).toEqual([]);
    await world.seen("e1");
    advance(1);
    expect(await world.events()).toMatchObject([{ kind: "node_alive", node: "e1" }]);
  });

  test("presence is never taken from a report", async () => {
    advance(20);
    await world.report("e1", { version: "1" });
    advance(1);
    expect(await world.events()).toEqual([]);
  });

  test("an operator's preview is no presence", async () => {
    advance(20);
    await world.get("/api/v1/edge/zones?node=e1", "admin");
    advance(1);
    expect(await world.events()).toEqual([]);
  });

  test("changes of zones that the node does not serve are none", async () => {
    const web = zoneWire("web.example", { at: world.time(), challenge_active: {} });
    const events = await eventsOf({}, { zones: [web], certs: [{ ...cert(), zone: "web.example" }] });
    expect(events).toEqual([]);
  });

  test("what a report had to leave out has not ended", async () => {
    const whole = { certs: [cert()], zones: [challenged()] };
    await world.report("e1", whole);
    await world.report("e1", { certs_truncated: 1, zones_truncated: 1 });
    await world.report("e1", whole);
    expect(kinds(await world.events())).toEqual(["report_truncated"]);
  });

  test("a node that a reload removes and another adds begins anew", async () => {
    await world.seen("e1");
    await world.report("e1", { version: "1" });
    await world.recorded();
    world.configure({ ...EDGE_WORLD, nodes: [{ name: "e2" }] });
    advance(20);
    world.configure(EDGE_WORLD);
    await world.report("e1", { version: "2" });
    await world.seen("e1");
    advance(1);
    expect(await world.events()).toEqual([]);
  });

  test("nothing of the answer waits for them", async () => {
    const { history } = world.server.backend.edge;
    world.server.backend.edge.history = {
      recordEdgeWindow: () => new Promise(() => {}),
      recordEdgeEvent: () => new Promise(() => {}),
    };
    for (const version of ["1", "2", "3"]) expect((await world.report("e1", { version })).status).toBe(204);
    world.server.backend.edge.history = history;
  });
});

describe("edge events", () => {
  test("are {available, events} with event_time, node, zone, kind and detail, newest first", async () => {
    await eventsOf({ version: "1" }, { version: "2", certs: [cert()] });
    advance(10);
    await world.report("e1", { version: "3", certs: [cert()] });
    await world.recorded();
    const { body } = await world.get(PATH);
    expect(body).toMatchObject({
      available: true,
      events: [
        { event_time: world.time(), node: "e1", kind: "version", detail: "from 2 to 3" },
        { event_time: world.time(-10), kind: "cert_issued", zone: "shop.example" },
        { event_time: world.time(-10), kind: "version" },
      ],
    });
    expect([...Value.Errors(EdgeEventsWire, body)]).toEqual([]);
  });
});

describe("GET /api/v1/edge/events", () => {
  test("filters by node, zone and kind", async () => {
    await eventsOf({ version: "1" }, { version: "2", certs: [cert()] });
    await world.report("e2", { version: "1" });
    await world.report("e2", { version: "2" });
    expect(await world.events()).toHaveLength(3);
    expect(await world.events("?node=e2")).toMatchObject([{ node: "e2", kind: "version" }]);
    expect(await world.events("?zone=Shop.Example")).toMatchObject([{ kind: "cert_issued" }]);
    expect(await world.events("?kind=version")).toHaveLength(2);
    expect(await world.events("?kind=version&node=e1")).toMatchObject([{ node: "e1" }]);
    expect(await world.events("?zone=none.example")).toEqual([]);
  });

  test("takes every kind that there is, and 400 is the answer to any other", async () => {
    for (const kind of EDGE_EVENT_KINDS) expect((await world.get(`${PATH}?kind=${kind}`)).status).toBe(200);
    for (const kind of ["", "Version", "node"]) {
      expect(await world.get(`${PATH}?kind=${kind}`)).toEqual({
        status: 400,
        body: { error: `unknown kind: ${kind}` },
      });
    }
  });

  test("is 404 for an unknown node", async () => {
    expect(await world.get(`${PATH}?node=e9`)).toEqual({ status: 404, body: { error: "unknown edge node" } });
  });

  test.each([
    ["from=2026-03-01T12:00:00Z&to=2026-03-01T11:00:00Z", "to must be after from"],
    ["from=2025-03-01T12:00:00Z", "time range too large (max 31 days)"],
  ])("?%s is 400, also with storage off", async (query, error) => {
    expect(await world.get(`${PATH}?${query}`)).toEqual({ status: 400, body: { error } });
    world.server.backend.edgeHistory = null;
    expect(await world.get(`${PATH}?${query}`)).toEqual({ status: 400, body: { error } });
  });

  test("is of the last hour, or of the range that is asked for", async () => {
    await eventsOf({ version: "1" }, { version: "2" });
    await world.recorded();
    advance(3601);
    expect(await world.events()).toEqual([]);
    expect(await world.events(`?from=${world.time(-4000)}`)).toHaveLength(1);
  });

  test("with storage off has none", async () => {
    world.server.backend.edgeHistory = null;
    expect(await world.get(PATH)).toEqual({ status: 200, body: { available: false, events: [] } });
  });
});

test("limit events rows are at most 1001, the newest", async () => {
  const zones = (isOn: boolean) => ({
    zones: Array.from({ length: 340 }, (_, i) => ({
      zone: `z${i}.example`,
      ...(isOn ? { challenge_active: {} } : {}),
    })),
  });
  world.configure({ ...EDGE_WORLD, zones: zones(false).zones.map(({ zone: name }) => ({ name })) });
  for (let i = 0; i < 4; i++) {
    await world.report("e1", zones(i % 2 === 1));
    advance(1);
  }
  const events = await world.events();
  expect(events).toHaveLength(HISTORY_ROWS_MAX);
  expect([kinds(events)[0], kinds(events).at(-1)]).toEqual(["challenge_started", "challenge_started"]);
});
