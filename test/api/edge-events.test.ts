/**
 * What has changed in the fleet, statement by statement (docs/interface.md#edge-events), over SQLite. Kinds and
 * rules by themselves are in src/edge/reports.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { EDGE_EVENT_KINDS } from "../../src/edge/reports/edge-history.ts";
import { EdgeEventsWire } from "../../src/http/wire/edge/history.ts";
import { EdgeWorld, type Json } from "../fixtures/edge/edge-world.ts";

const PATH = "/api/v1/edge/events";

let world: EdgeWorld;

beforeEach(async () => {
  world = await EdgeWorld.withHistory();
});
afterEach(() => world.stop());

const advance = (seconds: number) => world.server.clock.advance(seconds * 1000);

/** The events that reports of e1, one after the other, bring; the newest first. */
async function eventsOf(...reports: readonly object[]): Promise<Json[]> {
  for (const report of reports) {
    await world.report("e1", report);
    advance(1);
  }
  return world.events();
}

const cert = () => ({ certs: [{ zone: "shop.example", not_after: "2026-06-01T00:00:00Z" }] });

test.each<[string, () => Promise<unknown>]>([
  [
    "presence is never taken from a report #edge-event-rules-presence-is-never",
    () => world.report("e1", { version: "1" }),
  ],
  [
    "an operator's preview is no presence #edge-event-rules-an-operators-preview",
    () => world.get("/api/v1/edge/zones?node=e1", "admin"),
  ],
])("no event: %s", async (_, call) => {
  advance(20);
  await call();
  advance(1);
  expect(await world.events()).toEqual([]);
});

test("edge events are {available, events} with event_time, node, zone, kind and detail, newest first #edge-events-are", async () => {
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

describe("GET /api/v1/edge/events #get-api-v1-edge-events", () => {
  test("filters by node, zone and kind, in a range that is the last hour by itself", async () => {
    await eventsOf({ version: "1" }, { version: "2", ...cert() });
    for (const version of ["1", "2"]) await world.report("e2", { version });
    const rows = async (query: string) => (await world.events(query)).map(({ node, kind }) => [node, kind].join(" "));
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
