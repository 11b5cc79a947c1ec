/**
 * The fleet's zones, statement by statement (docs/interface.md#zone-status), over a real listener. Each rule by itself is
 * in src/edge/fleet-status.test.ts, the reports of many nodes in test/scenario/edge-sim.test.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { FleetStatusWire } from "../../src/http/wire/edge/status.ts";
import { type ZoneWire, zoneWire } from "../fixtures/edge/edge-reports.ts";
import { EDGE_WORLD, EdgeWorld, type Json } from "../fixtures/edge/edge-world.ts";

const SHOP = "shop.example";
const shop = (changes: Partial<ZoneWire> = {}) => zoneWire(SHOP, changes);
const not_after = "2026-06-01T00:00:00.000Z";
const cert = (zone: string) => ({ zone, not_after });

let world: EdgeWorld;

beforeEach(async () => {
  world = new EdgeWorld();
  await world.seen("e1", "e2", "e3");
});
afterEach(() => world.stop());

/** A reload to these zones beside acme's own. */
function withZones(...zones: readonly object[]): void {
  world.configure({ ...EDGE_WORLD, zones: [...EDGE_WORLD.zones, ...zones] });
}

async function lever(zone: string): Promise<void> {
  expect((await world.lever(zone, { mode: "manual", ttl_seconds: 60, reason: "drill" })).status).toBe(200);
}

const OVERRIDE = { mode: "manual", until: "2026-03-01T12:01:00.000Z", reason: "drill" };
const names = async (token?: string) => (await world.status(token)).zones.map(({ zone }) => zone);

describe("fleet status", () => {
  test("has nodes_alive, nodes_reporting and the rows of all file zones, by name #fleet-status-has-nodes-alive", async () => {
    await world.report("e1", {});
    world.server.clock.advance(10_000);
    await world.seen("e1", "e2");
    world.server.clock.advance(10_000);
    await world.report("e3", {});
    const { zones: _, ...head } = await world.status();
    expect(head).toEqual({ nodes_alive: 2, nodes_reporting: 1, zones_truncated: 0, certs_truncated: 0 });
    expect(await names()).toEqual(["plain.example", "rival.example", SHOP, "web.example"]);
  });

  test("has zones_truncated and certs_truncated of all alive nodes, for each caller #fleet-status-has-zones-truncated", async () => {
    await world.report("e1", { zones_truncated: 3, certs_truncated: 1 });
    await world.report("e2", { zones_truncated: 4 });
    const cut = { zones_truncated: 7, certs_truncated: 1, nodes_alive: 3, nodes_reporting: 2 };
    expect([await world.status(), await world.status("other")]).toMatchObject([cut, cut]);
  });

  test("is as its schema says, with everything in it and without an edge", async () => {
    const challenge_active = { reason: "auto", until: world.time(60), dry_run: false };
    const top_sources = [{ source: "192.0.2.1", state: "would-deny", requests: 2 }];
    const zone = shop({
      dry_run: true,
      rung_dry_run: true,
      would_deny: 2,
      challenge_active,
      top_sources,
      sources_truncated: 1,
    });
    await world.report("e1", { terminator: { h3: { serving: [SHOP] } }, certs: [cert(SHOP)], zones: [zone] });
    await lever(SHOP);
    await lever("plain.example");
    world.configure({ ...EDGE_WORLD, zones: EDGE_WORLD.zones.slice(0, 3) });
    const status = await world.status();
    expect([[...Value.Errors(FleetStatusWire, status)], status.zones.length]).toEqual([[], 4]);
    world.server.backend.edge.reconfigure(null);
    expect(await world.status()).toMatchObject({ nodes_alive: 0, nodes_reporting: 0, zones: [{}, {}] });
  });
});

describe("zone status", () => {
  test("of a zone without a reporting node has nodes 0 and rps 0, and nothing of the nodes' reports #zone-status-of-a-zone-without-a-reporting-node", async () => {
    const file = { zone: SHOP, tenant: "acme", mode: "decide", file_challenge: "off" };
    expect(await world.zone()).toEqual({ ...file, nodes: 0, rps: 0, placement: { nodes: 3, alive: 3 } });
  });

  test("has mode and file_challenge of the file's policy #zone-status-has-mode", async () => {
    withZones({ name: "x.example", policy: { mode: "none" } }, { name: "y.example", policy: { challenge: "manual" } });
    expect(await world.zone("x.example")).toMatchObject({ mode: "none", file_challenge: "off" });
    expect(await world.zone("y.example")).toMatchObject({ mode: "decide", file_challenge: "manual" });
  });

  const source = (text: string, state: string, requests: number) => ({ source: text, state, requests });
  const until = "2026-03-01T12:01:00.000Z";
  const FIRST = shop({
    ...{ challenge: "auto", rps: 1.2346, requests: 12, decided: 10, denied: 3, dry_run: true, rung_dry_run: true },
    challenge_active: { reason: "rps", until, dry_run: true },
    top_sources: [source("2001:DB8::1", "would-challenge", 5), source("192.0.2.9", "denied", 50)],
  });
  const SECOND = shop({
    ...{ challenge: "manual", rps: 2, requests: 20, denied: 1, cleared: 5, dry_run: true, challenge_active: {} },
    top_sources: [source("2001:db8:0::1", "would-deny", 6), source("192.0.2.1", "would-challenge", 11)],
  });
  const WOULD_BE = [
    { ...source("192.0.2.1", "would-challenge", 11), nodes: ["e2"] },
    { ...source("2001:db8::1", "would-deny", 11), nodes: ["e1", "e2"] },
  ];
  const [E1, E2] = [{ node: "e1" }, { node: "e2" }];
  const ACTIVE = [
    { ...E1, reason: "rps", until, dry_run: true },
    { ...E2, dry_run: false },
  ];
  const CERTS = [
    { ...E1, not_after, issuer: "CA" },
    { ...E2, not_after },
  ];

  test.each<[string, Json]>([
    [
      "challenge as the nodes apply it, and mixed where they differ #zone-status-has-challenge-as",
      { challenge: "mixed", nodes: 2 },
    ],
    [
      "rps and counters summed over alive nodes #zone-status-has-rps",
      { rps: 3.235, requests: 32, decided: 10, denied: 4, cleared: 5 },
    ],
    [
      "rps and counters, these only where they are not zero #zone-status-has-rps",
      { challenged: undefined, would_deny: undefined },
    ],
    [
      "watch_only and rung_watch_only with the names of nodes #zone-status-has-watch-only",
      { watch_only: ["e1", "e2"], rung_watch_only: ["e1"] },
    ],
    ["challenge_active of each node #zone-status-has-challenge-active", { challenge_active: ACTIVE }],
    [
      "would_be with the union of sources over nodes, stronger state kept, busiest first #zone-status-has-would-be",
      { would_be: WOULD_BE },
    ],
    [
      "certs of each node, with the issuer only where one is reported #zone-status-has-certs",
      { certs: CERTS, partial: undefined },
    ],
  ])("has %s", async (_, fields) => {
    await world.report("e1", { zones: [FIRST], certs: [{ ...cert("Shop.example"), issuer: "CA" }] });
    await world.report("e2", { zones: [SECOND], certs: [cert(SHOP)] });
    const zone = await world.zone();
    expect(Object.keys(fields).map((field) => zone[field])).toEqual(Object.values(fields));
  });

  test("has override while a lever is in force #zone-status-has-override", async () => {
    await lever(SHOP);
    for (const token of ["eyes", "acme"]) expect((await world.zone(SHOP, token))["override"]).toEqual(OVERRIDE);
    world.server.clock.advance(60_000);
    expect(await world.zone()).not.toHaveProperty("override");
  });

  test("has placement, and unserved where there are nodes and none of them is alive #zone-status-has-placement", async () => {
    const placed = async (zone?: string) => {
      const { placement, unserved } = await world.zone(zone);
      return [placement, unserved];
    };
    const web = (nodes: number, alive: number) => ({ hostgroup: "web", nodes, alive });
    expect(await placed("web.example")).toEqual([web(1, 1), undefined]);
    world.server.clock.advance(15_001);
    await world.seen("e1");
    expect(await placed("web.example")).toEqual([web(1, 0), true]);
    expect(await placed()).toEqual([{ nodes: 3, alive: 1 }, undefined]);
    world.configure({ ...EDGE_WORLD, nodes: [{ name: "e1" }] });
    expect(await placed("web.example")).toEqual([web(0, 0), undefined]);
  });

  test("has h3 where the file turns it on, also with mode none, or where nodes speak it #zone-status-has-h3", async () => {
    withZones({ name: "x.example", tls: { h3: true }, policy: { mode: "none" } });
    const h3 = async (zone?: string) => (await world.zone(zone))["h3"];
    const none = { serving: 0, unsupported: 0, requests: 0 };
    expect([await h3("x.example"), await h3()]).toEqual([{ enabled: true, ...none }, undefined]);
    const zones = [zoneWire("plain.example", { h3_requests: 3 })];
    await world.report("e1", { terminator: { h3: { serving: ["x.example"] } }, zones });
    const more = [zoneWire("plain.example", { h3_requests: 4 })];
    await world.report("e2", { terminator: { h3: { unsupported: ["X.example"] } }, zones: more });
    expect(await h3("x.example")).toEqual({ enabled: true, ...none, serving: 1, unsupported: 1 });
    expect(await h3("plain.example")).toEqual({ enabled: false, ...none, requests: 7 });
  });

  test("of a lever on a zone that the file has no more has no mode, and is for tokens without a tenant alone #zone-status-of-a-lever", async () => {
    await lever(SHOP);
    await world.report("e1", { zones: [shop()] });
    world.configure({ ...EDGE_WORLD, zones: EDGE_WORLD.zones.slice(1) });
    expect(await world.zone()).toEqual({ zone: SHOP, nodes: 0, rps: 0, override: OVERRIDE });
    expect(await names("acme")).toEqual(["web.example"]);
    await world.clearLever(SHOP);
    expect(await world.zone()).toEqual({});
  });
});

test("GET /api/v1/edge/zones/status shows a tenant exactly its own zones, with no other's hostname and no tenant field #get-api-v1-edge-zones-status", async () => {
  const all = EDGE_WORLD.zones.map(({ name }) => name);
  const h3 = { serving: all, unsupported: all };
  for (const node of ["e1", "e2", "e3"])
    await world.report(node, { zones: all.map((zone) => zoneWire(zone)), certs: all.map(cert), terminator: { h3 } });
  expect([await names("acme"), await names("other")]).toEqual([[SHOP, "web.example"], ["rival.example"]]);
  const own = await world.status("acme");
  expect(JSON.stringify(own)).not.toMatch(/rival|plain|tenant|hostgroup/);
  expect(own.zones[0]).toMatchObject({ certs: [{ node: "e1" }, {}, {}], placement: { nodes: 3, alive: 3 } });
  expect((await world.status()).zones.map(({ tenant }) => tenant)).toEqual([undefined, "other", "acme", "acme"]);
});

test("at most 20 would-be sources of a node's window are shown; the rest is counted in would_be_truncated, and the set is partial #limit-would-be-sources-per-node-window", async () => {
  const source = (i: number) => ({ source: `192.0.2.${i}`, state: "would-deny", requests: i });
  const top_sources = Array.from({ length: 25 }, (_, i) => source(i));
  await world.report("e1", { zones: [shop({ top_sources, sources_truncated: 2 })] });
  expect((await world.zone())["would_be"]).toHaveLength(20);
  expect(await world.zone()).toMatchObject({ would_be_truncated: 7, partial: true });
});
