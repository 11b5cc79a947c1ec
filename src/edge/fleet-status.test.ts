import { expect, test } from "bun:test";
import { edgeReport, zoneWire } from "../../test/fixtures/edge/edge-reports.ts";
import { zonesOf } from "../../test/fixtures/edge/zones.ts";
import { FleetIndex } from "./fleet-index.ts";
import type { Fleet, ZoneStatus } from "./fleet-status.ts";
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

test("zone status leaves out claims of nodes that do not serve the zone, or are not alive #zone-status-leaves-out-claims #zone-status-counts-a-node", () => {
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

test.each<[string, Wire, number, boolean]>([
  ["the node says so of the zone", { zones: [a({ sources_truncated: 1 })] }, 1, true],
  ["the node says so of no zone", { zones: [a()], sources_truncated: 1 }, 0, true],
  ["it may be among the zones that were cut", { zones: [OTHER], zones_truncated: 1 }, 0, true],
  ["other zones were cut, and not this one", { zones: [a()], zones_truncated: 1 }, 0, false],
  ["certificates were cut alone", { zones: [a()], certs_truncated: 1 }, 0, false],
])("zone status is partial where %s #zone-status-is-partial", (_, wire, cut, isPartial) => {
  const status = statusOf({ e1: wire });
  expect([status.wouldBeCut, status.isWouldBePartial]).toEqual([cut, isPartial]);
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
