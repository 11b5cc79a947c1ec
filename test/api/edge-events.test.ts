/**
 * What has changed in the fleet, statement by statement (docs/interface.md#edge-events), over SQLite. The rules by
 * themselves are in src/edge/reports.
 */
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

/** The events that reports of e1, one after the other, bring; the newest first. */
async function eventsOf(...reports: readonly object[]): Promise<Json[]> {
  for (const report of reports) {
    await world.report("e1", report);
    advance(1);
  }
  return world.events();
}

const cert = (not_after = "2026-06-01T00:00:00Z", zone = "shop.example") => ({ certs: [{ zone, not_after }] });
const shop = (changes = {}, zone = "shop.example") => ({ zones: [zoneWire(zone, { at: world.time(), ...changes })] });
const challenged = (zone?: string) => shop({ challenge_active: { reason: "rps" } }, zone);

describe("edge event of kind", () => {
  const h3 = (state: string) => ({ terminator: { h3: { state } } });
  const alive = (is: boolean) => ({ terminator: { alive: is } });
  const generation = (is: number, more: object) => ({ terminator: { generation: is, ...more } });
  const refused = generation(1, { test_ok: false, test_error: "line 3" });
  test.each<[string, object, object, string]>([
    ["version", { version: "1" }, { version: "2" }, "from 1 to 2"],
    ["dry_run", { dry_run: false }, { dry_run: true }, "on"],
    ["document_rendered", { zones_etag: '"a"' }, { zones_etag: '"b"' }, '"b"'],
    ["terminator_alive", alive(true), alive(false), "not alive"],
    ["h3_state", h3("unknown"), h3("ready"), "from unknown to ready"],
    ["report_truncated", {}, { zones_truncated: 2 }, "left out: 2 zones, 0 certificates, 0 sources"],
    ["generation_installed", generation(1, {}), generation(2, { test_ok: true }), "2"],
    ["generation_refused", generation(1, { test_ok: true }), refused, "line 3"],
  ])("%s is told of, from %j to %j", async (kind, first, second, detail) => {
    const event_time = world.time(1);
    expect(await eventsOf(first, second)).toEqual([{ event_time, node: "e1", kind, detail }]);
  });

  test("cert_issued, cert_renewed and cert_gone tell of a zone's certificate", async () => {
    const events = await eventsOf({ certs: [] }, cert(), cert("2026-09-01T00:00:00Z"), { certs: [] });
    expect(kinds(events)).toEqual(["cert_gone", "cert_renewed", "cert_issued"]);
    for (const event of events) expect(event).toMatchObject({ node: "e1", zone: "shop.example" });
  });

  test("challenge_started and challenge_ended tell of a zone-wide challenge", async () => {
    const zone = "shop.example";
    expect(await eventsOf(shop(), challenged(), shop())).toMatchObject([
      { kind: "challenge_ended", zone, detail: "" },
      { kind: "challenge_started", zone, detail: "rps" },
    ]);
  });

  test("clock_skew tells that a node's clock is off, once", async () => {
    const off = [-601, 61].map((seconds) => shop({ at: world.time(seconds + 1) }));
    expect(kinds(await eventsOf(shop(), ...off))).toEqual(["clock_skew"]);
  });

  test("node_lost and node_alive tell of presence", async () => {
    await world.seen("e1");
    advance(15.5);
    expect(await world.events()).toMatchObject([{ kind: "node_lost", node: "e1" }]);
    advance(100);
    await world.seen("e1");
    advance(1);
    const events = await world.events();
    expect([kinds(events), "zone" in (events[0] ?? {})]).toEqual([["node_alive", "node_lost"], false]);
  });
});

describe("edge event rules:", () => {
  test("the first report after the start is a silent baseline, and so is one that says the same", async () => {
    const terminator = { alive: false, test_ok: false, generation: 3, h3: { state: "node_off" } };
    const report = { version: "1", terminator, ...cert(), ...challenged(), zones_truncated: 9 };
    expect(await eventsOf(report, report)).toEqual([]);
  });

  const preview = () => world.get("/api/v1/edge/zones?node=e1", "admin");
  test.each<[string, number, () => Promise<unknown>, string[]]>([
    ["presence is baselined at the first poll", 14, () => world.seen("e1"), []],
    [
      "a node that is down across a start has no event until it returns: node_alive",
      3600,
      () => world.seen("e1"),
      ["node_alive"],
    ],
    ["presence is never taken from a report", 20, () => world.report("e1", { version: "1" }), []],
    ["an operator's preview is no presence", 20, preview, []],
  ])("%s", async (_, seconds, call, expected) => {
    advance(seconds);
    expect(await world.events()).toEqual([]);
    await call();
    advance(1);
    expect(kinds(await world.events())).toEqual(expected);
  });

  test("changes of zones that the node does not serve are none", async () => {
    const foreign = "web.example";
    expect(await eventsOf({}, { ...challenged(foreign), ...cert("2026-06-01T00:00:00Z", foreign) })).toEqual([]);
  });

  test("what a report had to leave out has not ended", async () => {
    const whole = { ...cert(), ...challenged() };
    expect(kinds(await eventsOf(whole, { certs_truncated: 1, zones_truncated: 1 }, whole))).toEqual([
      "report_truncated",
    ]);
  });

  test("a node that a reload removes and another adds begins anew", async () => {
    await world.seen("e1");
    await eventsOf({ version: "1" });
    world.configure({ ...EDGE_WORLD, nodes: [{ name: "e2" }] });
    advance(20);
    world.configure(EDGE_WORLD);
    await world.seen("e1");
    expect(await eventsOf({ version: "2" })).toEqual([]);
  });

  test("nothing of the answer waits for them", async () => {
    const { history } = world.server.backend.edge;
    const never = () => new Promise(() => {});
    world.server.backend.edge.history = { recordEdgeWindow: never, recordEdgeEvent: never };
    for (const version of ["1", "2"]) expect((await world.report("e1", { version })).status).toBe(204);
    world.server.backend.edge.history = history;
  });
});

test("edge events are {available, events} with event_time, node, zone, kind and detail, newest first", async () => {
  const event_time = world.time(1);
  await eventsOf({ version: "1" }, { version: "2", ...cert() }, { version: "3", ...cert() });
  const { body } = await world.get(PATH);
  const events = [
    { event_time: world.time(-1), node: "e1", kind: "version", detail: "from 2 to 3" },
    { event_time, kind: "cert_issued", zone: "shop.example" },
    { event_time, kind: "version" },
  ];
  expect(body).toMatchObject({ available: true, events });
  expect([...Value.Errors(EdgeEventsWire, body)]).toEqual([]);
});

describe("GET /api/v1/edge/events", () => {
  test("filters by node, zone and kind, in a range that is the last hour by itself", async () => {
    await eventsOf({ version: "1" }, { version: "2", ...cert() });
    for (const version of ["1", "2"]) await world.report("e2", { version });
    const rows = async (query: string) => (await world.events(query)).map(({ node, kind }) => `${node} ${kind}`);
    const [version, renewed] = ["e1 version", "e1 cert_issued"];
    expect(await rows("")).toEqual(["e2 version", renewed, version]);
    expect(await rows("?node=e2")).toEqual(["e2 version"]);
    expect(await rows("?zone=Shop.Example")).toEqual([renewed]);
    expect(await rows("?kind=version&node=e1")).toEqual([version]);
    expect(await rows("?zone=none.example")).toEqual([]);
    advance(3601);
    expect(await rows("")).toEqual([]);
    expect(await rows(`?from=${world.time(-4000)}`)).toHaveLength(3);
  });

  test("takes every kind that there is, and is 404 for an unknown node", async () => {
    expect(await world.get(`${PATH}?node=e9`)).toEqual({ status: 404, body: { error: "unknown edge node" } });
    for (const kind of EDGE_EVENT_KINDS) expect((await world.get(`${PATH}?kind=${kind}`)).status).toBe(200);
  });

  test.each([
    ["kind=", "unknown kind: "],
    ["kind=Version", "unknown kind: Version"],
    ["from=2026-03-01T12:00:00Z&to=2026-03-01T11:00:00Z", "to must be after from"],
    ["from=2025-03-01T12:00:00Z", "time range too large (max 31 days)"],
  ])("?%s is 400, also with storage off", async (query, error) => {
    const refused = { status: 400, body: { error } };
    expect(await world.get(`${PATH}?${query}`)).toEqual(refused);
    world.server.backend.edgeHistory = null;
    expect(await world.get(`${PATH}?${query}`)).toEqual(refused);
  });

  test("with storage off has none", async () => {
    world.server.backend.edgeHistory = null;
    expect(await world.get(PATH)).toEqual({ status: 200, body: { available: false, events: [] } });
  });
});

test("limit events rows are at most 1001, the newest", async () => {
  const names = Array.from({ length: 340 }, (_, i) => `z${i}.example`);
  world.configure({ ...EDGE_WORLD, zones: names.map((name) => ({ name })) });
  const [calm, all] = [{}, { challenge_active: {} }].map((is) => ({ zones: names.map((zone) => ({ zone, ...is })) }));
  const events = await eventsOf(calm as object, all as object, calm as object, all as object);
  expect(events).toHaveLength(HISTORY_ROWS_MAX);
  expect([kinds(events)[0], kinds(events).at(-1)]).toEqual(["challenge_started", "challenge_started"]);
});
