import { describe, expect, test } from "bun:test";
import { edgeReport, zoneWire } from "../../../../test/fixtures/edge/edge-reports.ts";
import { address } from "../../../../test/fixtures/host-rows.ts";
import { NOON } from "../../../../test/fixtures/views.ts";
import { EDGE_COUNT_MAX, EDGE_SOURCES_PER_WINDOW, edgeReportCheck } from "./report.ts";

const claimOf = (zone: object) => edgeReport({ zones: [zoneWire("a.example", zone)] }).zones.get("a.example");
const faultOf = (wire: unknown) => {
  const checked = edgeReportCheck.check(wire, "");
  return checked.kind === "invalid_body" ? checked.detail : checked.kind;
};

test("a report is rewritten, including unknown keys and every digit", () => {
  const text = '{ "version":"1", "kernel":{"x":[null, 1.50, 18446744073709551615]}, "zones":[{"zone":"A.Example"}] }';
  const expected = '{"version":"1","kernel":{"x":[null,1.50,18446744073709551615]},"zones":[{"zone":"A.Example"}]}';
  expect(edgeReportCheck.check(JSON.parse(text), text)).toMatchObject({ kind: "fields", fields: { text: expected } });
});

test("a field that the service does not read may have any type", () => {
  const unread = { module: 1, tls_library: {}, early_data_capable: "x", advisory: [], listening: null };
  const terminator = { kind: 1, version: null, h3: { ...unread, state: "ready" } };
  const zones = [zoneWire("a.example", { top_sources: [{ source: "192.0.2.1", rps: "many" }] })];
  expect(edgeReport({ terminator, zones }).h3.state).toBe("ready");
});

test("what a report does not say is not known", () => {
  expect(edgeReport()).toEqual({
    text: "{}",
    version: null,
    isDryRun: null,
    zonesEtag: null,
    generation: null,
    isTestOk: null,
    testError: null,
    isTerminatorAlive: null,
    h3: { state: null, serving: new Set(), unsupported: new Set() },
    certs: new Map(),
    zones: new Map(),
    cut: { zones: 0, certs: 0, sources: 0, isAnyZoneAffected: false },
  });
});

test("a report is read", () => {
  const report = edgeReport({
    version: "2.1",
    dry_run: true,
    zones_etag: '"x"',
    terminator: {
      kind: "nginx",
      generation: 7,
      test_ok: false,
      test_error: "line 3",
      alive: true,
      h3: { state: "ready", serving: ["A.example"], unsupported: ["b.example"] },
    },
    certs: [
      { zone: "A.example", not_after: "2026-06-01T00:00:00Z", issuer: "CA" },
      { zone: "a.example", not_after: "2026-07-01T00:00:00+02:00" },
    ],
    certs_truncated: 1,
    zones_truncated: 2,
    sources_truncated: 3,
  });
  expect(report).toMatchObject({
    version: "2.1",
    isDryRun: true,
    zonesEtag: '"x"',
    generation: "7",
    isTestOk: false,
    testError: "line 3",
    isTerminatorAlive: true,
    h3: { state: "ready", serving: new Set(["a.example"]), unsupported: new Set(["b.example"]) },
    cut: { zones: 2, certs: 1, sources: 3, isAnyZoneAffected: true },
  });
  expect(report.certs.get("a.example")).toEqual([
    { notAfterMs: Date.UTC(2026, 5, 1), issuer: "CA" },
    { notAfterMs: Date.UTC(2026, 6, 1) - 7_200_000, issuer: null },
  ]);
});

describe("edge report window #edge-report-window", () => {
  test("is read", () => {
    const claim = claimOf({
      denied: 3,
      status_5xx: 2,
      dry_run: true,
      rung_dry_run: true,
      challenge_active: { reason: "auto", until: "2026-03-01T12:05:00.5Z", dry_run: true },
      sources_truncated: 4,
    });
    expect(claim).toMatchObject({
      atMs: NOON,
      seconds: 10,
      rps: 10,
      challenge: "off",
      isWatchOnly: true,
      isRungWatchOnly: true,
      challengeActive: { reason: "auto", untilMs: NOON + 300_500, isDryRun: true },
      sourcesCut: 4,
    });
    expect(claim?.counts).toMatchObject({ requests: 100, denied: 3, status_5xx: 2, cleared: 0 });
  });

  test("that does not say its rate has that of its requests, and ten seconds are its length", () => {
    const { zones } = edgeReport({
      zones: [
        { zone: "a", requests: 30, window_seconds: 5 },
        { zone: "b", requests: 30 },
        { zone: "c", requests: 30, window_seconds: 0 },
        { zone: "d", requests: EDGE_COUNT_MAX, window_seconds: 1e-310 },
        { zone: "e", requests: 30, window_seconds: 0.001 },
      ],
    });
    expect([...zones.values()].map(({ rps, seconds, atMs }) => [rps, seconds, atMs])).toEqual([
      [6, 5, null],
      [3, 10, null],
      [0, 0, null],
      [0, 0, null],
      [30_000, 0.001, null],
    ]);
  });

  test("of a zone that is there twice, in any spelling, is the last one", () => {
    const { zones } = edgeReport({
      zones: [zoneWire("a.example", { requests: 1 }), zoneWire("A.EXAMPLE", { requests: 2 })],
    });
    expect([...zones].map(([name, { counts }]) => [name, counts.requests])).toEqual([["a.example", 2]]);
  });

  test("ten thousand of them are ten thousand", () => {
    const zones = Array.from({ length: 10_000 }, (_, i) => ({ zone: `z${i}` }));
    expect(edgeReport({ zones }).zones.size).toBe(10_000);
  });
});

describe("edge report sources #edge-report-sources", () => {
  const sourcesOf = (top_sources: object[]) => claimOf({ top_sources });

  test("are those with a state of REPORTED_STATES", () => {
    const states = ["denied", "challenged", "would-deny", "would-challenge", "cleared", "marked", "allow", "other"];
    const claim = sourcesOf(states.map((state, i) => ({ source: `192.0.2.${i}`, state, requests: i })));
    expect(claim?.sources.map(({ state, requests }) => [state, requests])).toEqual([
      ["denied", 0],
      ["challenged", 1],
      ["would-deny", 2],
      ["would-challenge", 3],
    ]);
    expect(claim?.sourcesCut).toBe(0);
  });

  test("in two spellings are one, with the stronger state", () => {
    const claim = sourcesOf([
      { source: "2001:DB8::0:1", state: "would-challenge", requests: 5 },
      { source: "2001:db8::1", state: "challenged", requests: 7 },
      { source: "2001:db8:0:0:0:0:0:1", state: "would-deny", requests: EDGE_COUNT_MAX },
    ]);
    expect(claim?.sources).toEqual([{ source: address("2001:db8::1"), state: "challenged", requests: EDGE_COUNT_MAX }]);
  });

  test("that occur again are counted even if there is no room for others", () => {
    const full = Array.from({ length: EDGE_SOURCES_PER_WINDOW }, (_, i) => `192.0.2.${i}`);
    const claim = sourcesOf([...full, "192.0.2.3"].map((source) => ({ source, state: "would-deny", requests: 1 })));
    expect(claim?.sources[3]).toEqual({ source: address("192.0.2.3"), state: "would-deny", requests: 2 });
    expect([claim?.sources.length, claim?.sourcesCut]).toEqual([EDGE_SOURCES_PER_WINDOW, 0]);
  });

  test("that are no addresses are missing, which counts of would-be ones", () => {
    const texts = ["::ffff:192.0.2.1", "fe80::1%eth0", "192.0.2.01", "192.0.2.0/24", "", "none"];
    const claim = sourcesOf([
      ...texts.map((source) => ({ source, state: "would-deny" })),
      { source: "192.0.2.256", state: "denied" },
      { source: "192.0.2.1", state: "denied" },
    ]);
    expect(claim?.sources.map(({ source }) => source)).toEqual([address("192.0.2.1")]);
    expect(claim?.sourcesCut).toBe(texts.length);
  });

  test.each([
    [EDGE_SOURCES_PER_WINDOW - 1, 0],
    [EDGE_SOURCES_PER_WINDOW, 0],
    [EDGE_SOURCES_PER_WINDOW + 1, 1],
    [500, 480],
  ])("%d of them are read with %d missing", (count, cut) => {
    const claim = sourcesOf(
      Array.from({ length: count }, (_, i) => ({ source: `2001:db8::${i.toString(16)}`, state: "would-deny" })),
    );
    expect([claim?.sources.length, claim?.sourcesCut]).toEqual([count - cut, cut]);
  });
});

test("sources are missing of any zone where only the report as a whole says so", () => {
  const zones = [zoneWire("a", { sources_truncated: 2 }), zoneWire("b", { sources_truncated: 1 })];
  expect(edgeReport({ zones }).cut).toMatchObject({ sources: 3, isAnyZoneAffected: false });
  expect(edgeReport({ zones, sources_truncated: 3 }).cut).toMatchObject({ sources: 3, isAnyZoneAffected: false });
  expect(edgeReport({ zones, sources_truncated: 4 }).cut).toMatchObject({ sources: 4, isAnyZoneAffected: true });
});

test("zones over QUIC may be given as a number only", () => {
  const { h3 } = edgeReport({ terminator: { h3: { serving: 3, unsupported: 0 } } });
  expect([h3.serving.size, h3.unsupported.size]).toEqual([0, 0]);
});

test.each([
  [[], "not an object"],
  [null, "not an object"],
  [{ version: 1 }, "version must be a string"],
  [{ dry_run: 0 }, "dry_run: expected boolean"],
  [{ zones: {} }, "zones: expected array"],
  [{ zones: [{}] }, "zones/0/zone is required"],
  [{ zones: [{ zone: 1 }] }, "zones/0/zone must be a string"],
  [{ zones: ["a"] }, "not an object"],
  [{ zones: [{ zone: "a", requests: -1 }] }, "zones/0/requests: expected integer to be greater or equal to 0"],
  [{ zones: [{ zone: "a", requests: 1.5 }] }, "zones/0/requests: expected integer"],
  [{ zones: [{ zone: "a", requests: "1" }] }, "zones/0/requests: expected integer"],
  [
    { zones: [{ zone: "a", requests: EDGE_COUNT_MAX + 1 }] },
    `zones/0/requests: expected integer to be less or equal to ${EDGE_COUNT_MAX}`,
  ],
  [JSON.parse('{"zones":[{"zone":"a","requests":1e999}]}'), "zones/0/requests: expected integer"],
  [JSON.parse('{"zones":[{"zone":"a","rps":1e999}]}'), "zones/0/rps must be a number"],
  [{ zones: [{ zone: "a", rps: 1e300 }] }, `zones/0/rps: expected number to be less or equal to ${EDGE_COUNT_MAX}`],
  [
    { zones: [{ zone: "a", window_seconds: -1 }] },
    "zones/0/window_seconds: expected number to be greater or equal to 0",
  ],
  [{ zones: [{ zone: "a", at: "now" }] }, "zones/0/at: expected string to match 'date-time' format"],
  [{ zones: [{ zone: "a", at: 1 }] }, "zones/0/at must be a string"],
  [{ zones: [{ zone: "a", at: "2026-02-30T00:00:00Z" }] }, "zones/0/at: expected string to match 'date-time' format"],
  [{ zones: [{ zone: "a", top_sources: [{ source: 1 }] }] }, "zones/0/top_sources/0/source must be a string"],
  [{ zones: [{ zone: "a", challenge_active: true }] }, "not an object"],
  [{ certs: [{ zone: "a" }] }, "certs/0/not_after is required"],
  [{ terminator: { h3: { serving: "a" } } }, "terminator/h3/serving: expected union value"],
])("%j is refused: %s", (wire, detail) => {
  expect(faultOf(wire)).toBe(detail);
});
