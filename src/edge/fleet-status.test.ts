import { describe, expect, test } from "bun:test";
import { NOON } from "../../test/fixtures/browser/views.ts";
import { edgeReport, zoneWire } from "../../test/fixtures/edge/edge-reports.ts";
import { zonesOf } from "../../test/fixtures/edge/zones.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { FleetIndex } from "./fleet-index.ts";
import { type Fleet, fleetTotals, type ZoneStatus } from "./fleet-status.ts";
import type { Zone } from "./zones/zone.ts";

type Wire = Parameters<typeof edgeReport>[0];

const [ZONE] = zonesOf({ zones: [{ name: "a.example", origins: ["192.0.2.1:443"] }] }) as readonly [Zone];
const OTHER = zoneWire("b.example", { requests: 1_000_000 });
const a = (changes: Parameters<typeof zoneWire>[1] = {}) => zoneWire("a.example", changes);

/** Nodes with a report, and alive nodes without one. */
function fleetOf(reports: Readonly<Record<string, Wire>>, silent: readonly string[] = []): Fleet {
  return {
    alive: new Set([...Object.keys(reports), ...silent]),
    reports: new Map(Object.entries(reports).map(([node, wire]) => [node, edgeReport(wire)])),
  };
}

function statusIn(fleet: Fleet, placed: readonly string[]): ZoneStatus {
  const index = new FleetIndex(fleet, (name) => name === ZONE.name);
  for (const _ of index.build());
  return index.statusOf(ZONE, placed, null);
}

const statusOf = (reports: Readonly<Record<string, Wire>>, silent: readonly string[] = []) =>
  statusIn(fleetOf(reports, silent), ["e1", "e2", "e3"]);

test("a zone without reports has only its placement", () => {
  expect(statusOf({}, ["e1"])).toEqual({
    kind: "zone",
    zone: ZONE,
    override: null,
    placed: 3,
    placedAlive: 1,
    challenge: null,
    nodes: 0,
    rps: 0,
    counts: { requests: 0, decided: 0, denied: 0, challenged: 0, cleared: 0, would_deny: 0, would_challenge: 0 },
    watchOnly: [],
    rungWatchOnly: [],
    challengeActive: [],
    wouldBe: [],
    wouldBeCut: 0,
    isWouldBePartial: false,
    certs: [],
    h3: { serving: 0, unsupported: 0, requests: 0 },
  });
});

test("windows add up over the nodes that name the zone", () => {
  const status = statusOf({
    e1: { zones: [a({ rps: 1.5, requests: 15, denied: 2, h3_requests: 4 }), OTHER] },
    e2: { zones: [a({ rps: 2.25, requests: 20, denied: 1, would_deny: 7, h3_requests: 1 })] },
    e3: { zones: [OTHER] },
  });
  expect(status).toMatchObject({
    nodes: 2,
    rps: 3.75,
    counts: { requests: 35, denied: 3, would_deny: 7, cleared: 0 },
    h3: { requests: 5 },
    placedAlive: 3,
  });
});

test("zone status leaves out claims of nodes that do not serve the zone, or are not alive", () => {
  const wire = { zones: [a()], certs: [{ zone: "a.example", not_after: "2026-06-01T00:00:00Z" }] };
  const fleet = fleetOf({ e1: wire, other: wire, e2: wire });
  const reports = new Map([...fleet.reports].filter(([node]) => node !== "e2"));
  const status = statusIn({ alive: new Set(["e1", "other"]), reports }, ["e1", "e2"]);
  expect([status.nodes, status.certs.map(({ node }) => node), status.placed, status.placedAlive]).toEqual([
    1,
    ["e1"],
    2,
    1,
  ]);
});

test.each([
  [["off", "off"], "off"],
  [["auto", "manual"], "mixed"],
  [[undefined, "auto"], "auto"],
  [[undefined, undefined], null],
])("challenges %j are %p", ([first, second], challenge) => {
  const wire = (applied: string | undefined) => {
    const { challenge: _, ...zone } = a();
    return { zones: [applied === undefined ? zone : { ...zone, challenge: applied }] };
  };
  expect(statusOf({ e1: wire(first), e2: wire(second) }).challenge).toBe(challenge);
});

test("nodes are named in the fleet's order", () => {
  const challenge_active = { reason: "r", until: new Date(NOON).toISOString(), dry_run: true };
  const wire: Wire = { zones: [a({ dry_run: true, rung_dry_run: true, challenge_active })] };
  const active = { reason: "r", untilMs: NOON, isDryRun: true };
  expect(statusOf({ e1: wire, e2: { zones: [a({ rung_dry_run: true })] }, e3: wire })).toMatchObject({
    watchOnly: ["e1", "e3"],
    rungWatchOnly: ["e1", "e2", "e3"],
    challengeActive: [
      { node: "e1", ...active },
      { node: "e3", ...active },
    ],
  });
});

describe("zone status", () => {
  const source = (text: string, state: string, requests: number) => ({ source: text, state, requests });

  test("has would-be sources as one set over all nodes, with the stronger state and their requests together, busiest first", () => {
    const { wouldBe } = statusOf({
      e1: {
        zones: [
          a({
            top_sources: [
              source("192.0.2.4", "would-deny", 12),
              source("192.0.2.1", "would-challenge", 5),
              source("192.0.2.2", "denied", 99),
            ],
          }),
        ],
      },
      e2: {
        zones: [a({ top_sources: [source("192.0.2.1", "would-deny", 6), source("192.0.2.3", "would-deny", 20)] })],
      },
      e3: {
        zones: [a({ top_sources: [source("192.0.2.1", "would-challenge", 1)] })],
      },
    });
    expect(wouldBe).toEqual([
      { source: address("192.0.2.3"), state: "would-deny", requests: 20, nodes: ["e2"] },
      { source: address("192.0.2.1"), state: "would-deny", requests: 12, nodes: ["e1", "e2", "e3"] },
      { source: address("192.0.2.4"), state: "would-deny", requests: 12, nodes: ["e1"] },
    ]);
  });

  test("has at most 20 would-be sources of each node", () => {
    const top_sources = (node: number) =>
      Array.from({ length: 30 }, (_, i) => source(`192.0.${node}.${i}`, "would-deny", 1));
    const status = statusOf({
      e1: { zones: [a({ top_sources: top_sources(1) })] },
      e2: { zones: [a({ top_sources: top_sources(2), sources_truncated: 5 })] },
    });
    expect([status.wouldBe.length, status.wouldBeCut, status.isWouldBePartial]).toEqual([40, 25, true]);
  });

  test.each<[string, Wire, number, boolean]>([
    ["the node says so of the zone", { zones: [a({ sources_truncated: 1 })] }, 1, true],
    ["the node says so of no zone", { zones: [a()], sources_truncated: 1 }, 0, true],
    ["it may be among the zones that were cut", { zones: [OTHER], zones_truncated: 1 }, 0, true],
    ["other zones were cut, and not this one", { zones: [a()], zones_truncated: 1 }, 0, false],
    ["certificates were cut alone", { zones: [a()], certs_truncated: 1 }, 0, false],
  ])("is partial where %s", (_, wire, cut, isPartial) => {
    const status = statusOf({ e1: wire });
    expect([status.wouldBeCut, status.isWouldBePartial]).toEqual([cut, isPartial]);
  });
});

test("certificates and HTTP/3 are of all alive nodes that serve the zone, also where its requests are not decided", () => {
  const status = statusOf({
    e1: {
      certs: [{ zone: "a.example", not_after: "2026-06-01T00:00:00Z", issuer: "CA" }],
      terminator: { h3: { serving: ["a.example"] } },
    },
    e2: {
      certs: [{ zone: "a.example", not_after: "2026-07-01T00:00:00Z" }],
      terminator: { h3: { unsupported: ["a.example", "b.example"] } },
    },
    e3: { certs: [{ zone: "b.example", not_after: "2026-07-01T00:00:00Z" }] },
  });
  expect(status).toMatchObject({ nodes: 0, h3: { serving: 1, unsupported: 1, requests: 0 } });
  expect(status.certs).toEqual([
    { node: "e1", notAfterMs: Date.UTC(2026, 5, 1), issuer: "CA" },
    { node: "e2", notAfterMs: Date.UTC(2026, 6, 1), issuer: null },
  ]);
});

test("totals are of all alive nodes, whatever they serve", () => {
  const fleet = fleetOf({ e1: { zones_truncated: 2, certs_truncated: 1 }, x: { zones_truncated: 3 } }, ["e2"]);
  expect(fleetTotals(fleet)).toEqual({ alive: 3, reporting: 2, zonesCut: 5, certsCut: 1 });
});
