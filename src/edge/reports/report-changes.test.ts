import { describe, expect, test } from "bun:test";
import { edgeReport, zoneWire } from "../../../test/fixtures/edge/edge-reports.ts";
import { type Change, EDGE_EVENT_DETAIL_MAX, type KnownNode, nextKnown } from "./report-changes.ts";

type Wire = Parameters<typeof edgeReport>[0];

const SERVED = ["a", "b"];
const serves = (zone: string) => SERVED.includes(zone);

/** The changes that each report after the first brings. */
function changesOf(...wires: readonly Wire[]): readonly (readonly Change[])[] {
  let known: KnownNode | null = null;
  const changed: (readonly Change[])[] = [];
  for (const wire of wires) {
    const next = nextKnown(known, { report: edgeReport(wire), serves, isClockSkewed: false });
    known = next.known;
    changed.push(next.changes);
  }
  return changed.slice(1);
}

const cert = (zone: string, not_after = "2026-06-01T00:00:00Z", issuer = "CA") => ({ zone, not_after, issuer });
const challenged = (zone: string, reason = "auto") => zoneWire(zone, { challenge_active: { reason } });
const FULL: Wire = {
  version: "1",
  dry_run: false,
  zones_etag: '"x"',
  terminator: { generation: "1", test_ok: false, alive: false, h3: { state: "no_module" } },
  certs: [cert("a")],
  zones: [challenged("a")],
  zones_truncated: 1,
};

test("the first report is a silent baseline, and so is one that says the same #edge-event-rules-the-first-report", () => {
  const first = nextKnown(null, { report: edgeReport(FULL), serves, isClockSkewed: true });
  expect(first.changes).toEqual([]);
  expect(nextKnown(first.known, { report: edgeReport(FULL), serves, isClockSkewed: true }).changes).toEqual([]);
});

test.each<[string, Wire, Wire, Change[]]>([
  [
    "version #edge-event-of-kind-version",
    { version: "1" },
    { version: "2" },
    [{ kind: "version", zone: null, detail: "from 1 to 2" }],
  ],
  [
    "dry_run on #edge-event-of-kind-dry-run",
    { dry_run: false },
    { dry_run: true },
    [{ kind: "dry_run", zone: null, detail: "on" }],
  ],
  ["dry_run off", { dry_run: true }, { dry_run: false }, [{ kind: "dry_run", zone: null, detail: "off" }]],
  [
    "document_rendered #edge-event-of-kind-document-rendered",
    { zones_etag: '"x"' },
    { zones_etag: '"y"' },
    [{ kind: "document_rendered", zone: null, detail: '"y"' }],
  ],
  [
    "document_rendered, the first one",
    {},
    { zones_etag: '"y"' },
    [{ kind: "document_rendered", zone: null, detail: '"y"' }],
  ],
  [
    "generation_installed #edge-event-of-kind-generation-installed",
    { terminator: { generation: 1 } },
    { terminator: { generation: 2, test_ok: true } },
    [{ kind: "generation_installed", zone: null, detail: "2" }],
  ],
  [
    "generation_refused",
    { terminator: { generation: 1, test_ok: true } },
    { terminator: { generation: 1, test_ok: false, test_error: "line 3" } },
    [{ kind: "generation_refused", zone: null, detail: "line 3" }],
  ],
  [
    "generation_refused, of the next document too",
    { zones_etag: '"x"', terminator: { test_ok: false } },
    { zones_etag: '"y"', terminator: { test_ok: false } },
    [
      { kind: "document_rendered", zone: null, detail: '"y"' },
      { kind: "generation_refused", zone: null, detail: "" },
    ],
  ],
  [
    "generation_refused once for one document, whatever its error says",
    { terminator: { test_ok: false, test_error: "at 1" } },
    { terminator: { test_ok: false, test_error: "at 2" } },
    [],
  ],
  [
    "generation_refused: not of a test that is passed again",
    { terminator: { test_ok: false } },
    { terminator: { test_ok: true } },
    [],
  ],
  [
    "terminator_alive, that it is not #edge-event-of-kind-terminator-alive",
    { terminator: { alive: true } },
    { terminator: { alive: false } },
    [{ kind: "terminator_alive", zone: null, detail: "not alive" }],
  ],
  [
    "terminator_alive, that it is",
    { terminator: { alive: false } },
    { terminator: { alive: true } },
    [{ kind: "terminator_alive", zone: null, detail: "alive" }],
  ],
  [
    "h3_state #edge-event-of-kind-h3-state",
    { terminator: { h3: { state: "no_module" } } },
    { terminator: { h3: { state: "ready" } } },
    [{ kind: "h3_state", zone: null, detail: "from no_module to ready" }],
  ],
  [
    "cert_issued #edge-event-of-kind-cert-issued",
    {},
    { certs: [cert("a")] },
    [{ kind: "cert_issued", zone: "a", detail: "valid until 2026-06-01T00:00:00.000Z, issued by CA" }],
  ],
  [
    "cert_renewed",
    { certs: [cert("a")] },
    { certs: [cert("a", "2026-09-01T00:00:00Z")] },
    [{ kind: "cert_renewed", zone: "a", detail: "valid until 2026-09-01T00:00:00.000Z, issued by CA" }],
  ],
  [
    "cert_renewed by another issuer",
    { certs: [cert("a")] },
    { certs: [{ zone: "a", not_after: "2026-06-01T00:00:00Z" }] },
    [{ kind: "cert_renewed", zone: "a", detail: "valid until 2026-06-01T00:00:00.000Z" }],
  ],
  [
    "cert_renewed, where a zone has two, by the one that is valid longest",
    { certs: [cert("a")] },
    { certs: [cert("a"), cert("a", "2026-09-01T00:00:00Z"), cert("a", "2026-07-01T00:00:00Z")] },
    [{ kind: "cert_renewed", zone: "a", detail: "valid until 2026-09-01T00:00:00.000Z, issued by CA" }],
  ],
  [
    "cert_gone",
    { certs: [cert("a"), cert("b")] },
    { certs: [cert("b")] },
    [{ kind: "cert_gone", zone: "a", detail: "valid until 2026-06-01T00:00:00.000Z, issued by CA" }],
  ],
  [
    "cert_renewed: not of a shorter one beside it",
    { certs: [cert("a")] },
    { certs: [cert("a"), cert("a", "2026-05-01T00:00:00Z")] },
    [],
  ],
  [
    "challenge_started #edge-event-of-kind-challenge-started",
    { zones: [zoneWire("a")] },
    { zones: [challenged("a", "rps 900")] },
    [{ kind: "challenge_started", zone: "a", detail: "rps 900" }],
  ],
  [
    "challenge_ended",
    { zones: [challenged("a")] },
    { zones: [zoneWire("a")] },
    [{ kind: "challenge_ended", zone: "a", detail: "" }],
  ],
  [
    "challenge_ended, of a zone that is served no more",
    { zones: [challenged("a")] },
    {},
    [{ kind: "challenge_ended", zone: "a", detail: "" }],
  ],
  [
    "challenge_started: not of one that goes on for another reason",
    { zones: [challenged("a")] },
    { zones: [challenged("a", "x")] },
    [],
  ],
  [
    "report_truncated #edge-event-of-kind-report-truncated",
    {},
    { zones_truncated: 1, certs_truncated: 2, zones: [zoneWire("a", { sources_truncated: 3 })] },
    [{ kind: "report_truncated", zone: null, detail: "left out: 1 zones, 2 certificates, 3 sources" }],
  ],
  ["report_truncated: not of a report that is cut further", { zones_truncated: 1 }, { zones_truncated: 9 }, []],
  ["report_truncated: not of a report that is whole again", { zones_truncated: 1 }, {}, []],
])("edge event of kind %s", (_, first, second, changes) => {
  expect(changesOf(first, second)).toEqual([changes]);
});

test("edge event of kind clock_skew is reported when it begins #edge-event-of-kind-clock-skew", () => {
  const first = nextKnown(null, { report: edgeReport(), serves, isClockSkewed: false });
  const second = nextKnown(first.known, { report: edgeReport(), serves, isClockSkewed: true });
  expect(second.changes.map(({ kind, zone }) => [kind, zone])).toEqual([["clock_skew", null]]);
  expect(nextKnown(second.known, { report: edgeReport(), serves, isClockSkewed: true }).changes).toEqual([]);
  const third = nextKnown(second.known, { report: edgeReport(), serves, isClockSkewed: null });
  expect(nextKnown(third.known, { report: edgeReport(), serves, isClockSkewed: true }).changes).toEqual([]);
});

test("what is said for the first time is no change, but for what was rendered and installed", () => {
  const [kinds] = changesOf({}, { ...FULL, certs: [], zones: [], zones_truncated: 0 }).map((changes) =>
    changes.map(({ kind }) => kind),
  );
  expect(kinds).toEqual(["document_rendered", "generation_installed", "generation_refused"]);
});

describe("what a report does not say #edge-event-rules-what-a-report", () => {
  test("of the node is as it was", () => {
    const [left, back, other] = changesOf(
      { ...FULL, zones_truncated: 0 },
      { certs: [cert("a")], zones: [challenged("a")] },
      { ...FULL, zones_truncated: 0 },
      { ...FULL, zones_truncated: 0, version: "2" },
    );
    expect([left, back]).toEqual([[], []]);
    expect(other?.map(({ kind }) => kind)).toEqual(["version"]);
  });

  test("since it was cut is as it was", () => {
    const [cut, back, gone] = changesOf(
      { certs: [cert("a"), cert("b")], zones: [challenged("a"), challenged("b")] },
      { certs: [cert("b")], certs_truncated: 1, zones: [challenged("b")], zones_truncated: 1 },
      { certs: [cert("a"), cert("b")], zones: [challenged("a"), challenged("b")] },
      { certs: [cert("b")], zones: [challenged("b")] },
    );
    expect(cut?.map(({ kind }) => kind)).toEqual(["report_truncated"]);
    expect(back).toEqual([]);
    expect(gone?.map(({ kind, zone }) => [kind, zone])).toEqual([
      ["cert_gone", "a"],
      ["challenge_ended", "a"],
    ]);
  });
});

test("changes of zones that the node does not serve are no events, and their state does not accumulate #edge-event-rules-changes-of-zones", () => {
  const foreign = { certs: [cert("x")], zones: [challenged("x")] };
  expect(changesOf({}, foreign, {})).toEqual([[], []]);
  const first = nextKnown(null, { report: edgeReport(foreign), serves, isClockSkewed: false });
  const cut = edgeReport({ zones_truncated: 1, certs_truncated: 1 });
  const { known } = nextKnown(first.known, { report: cut, serves, isClockSkewed: false });
  expect([known.certs.size, known.challenged.size]).toEqual([0, 0]);
});

test.each([
  [EDGE_EVENT_DETAIL_MAX, EDGE_EVENT_DETAIL_MAX],
  [EDGE_EVENT_DETAIL_MAX + 1, EDGE_EVENT_DETAIL_MAX + 1],
  [60_000, EDGE_EVENT_DETAIL_MAX + 1],
])("a detail of %d characters is shortened to %d", (characters, changed) => {
  const [changes] = changesOf({ zones_etag: "x" }, { zones_etag: "y".repeat(characters) });
  expect(changes?.[0]?.detail).toHaveLength(changed);
});
