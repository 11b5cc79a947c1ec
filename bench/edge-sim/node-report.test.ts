import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { fittedText, type ReportWire, sourcesToTell, type ZoneWire } from "./node-report.ts";
import { COUNT_NAMES, type SourceState, type SourceWire } from "./traffic.ts";

const COUNTS = Object.fromEntries(COUNT_NAMES.map((name) => [name, 1])) as Record<(typeof COUNT_NAMES)[number], number>;

const source = (state: SourceState, i = 0): SourceWire => ({ source: `198.18.0.${i}`, rps: 1, requests: 10, state });

function zone(name: string, sources: readonly SourceWire[], missing = 0): ZoneWire {
  return {
    zone: name,
    at: "2026-03-01T12:00:00.000Z",
    window_seconds: 10,
    rps: 1,
    ...COUNTS,
    challenge: "off",
    dry_run: true,
    rung_dry_run: true,
    top_sources: sources,
    ...(missing > 0 && { sources_truncated: missing }),
  };
}

function report(zones: readonly ZoneWire[], certs = 0): ReportWire {
  const h3 = {
    state: "ready",
    module: "m",
    tls_library: "t",
    early_data_capable: false,
    serving: [],
    unsupported: [],
  } as const;
  return {
    version: "1",
    dry_run: false,
    terminator: { kind: "nginx", version: "1", generation: 1, test_ok: true, alive: true, h3 },
    certs: Array.from({ length: certs }, (_, i) => ({
      zone: `z${i}`,
      not_after: "2026-03-01T12:00:00.000Z",
      issuer: "CA",
    })),
    zones,
  };
}

function fitted(whole: ReportWire, bytesMax?: number): { report: ReportWire; text: string } {
  const text = fittedText(whole, bytesMax);
  return { report: JSON.parse(text) as ReportWire, text };
}

const bytesOf = (whole: ReportWire) => Buffer.byteLength(JSON.stringify(whole));
const wouldBe = ({ state }: SourceWire) => state.startsWith("would-");

describe("a report that is too long sheds", () => {
  const mixed = [source("would-deny", 1), source("would-challenge", 2), source("denied", 3), source("allow", 4)];
  const whole = report([zone("a", mixed), zone("b", mixed)], 4);

  test("nothing where it fits exactly", () => {
    expect(fitted(whole, bytesOf(whole)).report).toEqual(whole);
  });

  test("the sources that are in no would-be set first, uncounted", () => {
    const { report: cut } = fitted(whole, bytesOf(whole) - 1);
    expect(cut.zones.map(({ top_sources }) => top_sources)).toEqual([mixed.slice(0, 2), mixed.slice(0, 2)]);
    expect(cut.zones.map(({ sources_truncated }) => sources_truncated)).toEqual([undefined, undefined]);
    expect(cut.certs).toHaveLength(4);
  });

  test("then half of each zone's list, and again, counted", () => {
    const few = report([zone("a", mixed.slice(0, 2)), zone("b", mixed.slice(0, 2), 3)], 4);
    const once = fitted(few, bytesOf(few) - 1).report;
    expect(once.zones.map(({ top_sources, sources_truncated }) => [top_sources.length, sources_truncated])).toEqual([
      [1, 1],
      [1, 4],
    ]);
    const twice = fitted(few, bytesOf(once) - 1).report;
    expect(twice.zones.map(({ top_sources, sources_truncated }) => [top_sources.length, sources_truncated])).toEqual([
      [0, 2],
      [0, 5],
    ]);
    expect(twice.certs).toHaveLength(4);
  });

  test("then certificates, then zones, both counted", () => {
    const bare = report([zone("a", []), zone("b", [])], 4);
    const noCerts = fitted(bare, bytesOf(report(bare.zones)) + 30).report;
    expect([noCerts.certs.length, noCerts.certs_truncated, noCerts.zones.length]).toEqual([0, 4, 2]);
    const oneZone = fitted(bare, bytesOf(noCerts) - 1).report;
    expect([oneZone.certs_truncated, oneZone.zones.map(({ zone: name }) => name), oneZone.zones_truncated]).toEqual([
      4,
      ["a"],
      1,
    ]);
  });
});

test("a report that cannot be cut further is a fault", () => {
  expect(() => fitted(report([]), 10)).toThrow("does not fit into 10 bytes");
});

test("a window has 20 sources, and the number of missing would-be ones", () => {
  const many = Array.from({ length: 23 }, (_, i) => source("would-deny", i));
  const { top_sources, sources_truncated } = sourcesToTell({ sources: [...many, source("allow", 99)] });
  expect([top_sources, sources_truncated]).toEqual([many.slice(0, 20), 3]);
  expect(sourcesToTell({ sources: many.slice(0, 20) })).toEqual({ top_sources: many.slice(0, 20) });
});

test("after any cut, the included and the counted items add up to the whole", () => {
  const seed = Date.now() & 0xffff;
  const random = seededRandom(seed);
  const states: readonly SourceState[] = ["would-deny", "would-challenge", "denied", "challenged", "allow"];
  for (let round = 0; round < 50; round++) {
    const zones = Array.from({ length: 1 + Math.floor(random() * 200) }, (_, i) => {
      const sources = Array.from({ length: Math.floor(random() * 20) }, (_, n) =>
        source(states[Math.floor(random() * 5)] ?? "allow", n),
      );
      return zone(
        `zone-${i}`,
        sources.toSorted((a, b) => Number(wouldBe(b)) - Number(wouldBe(a))),
      );
    });
    const whole = report(zones, Math.floor(random() * 300));
    const { report: cut, text } = fitted(whole);
    const about = `seed ${seed}, round ${round}`;
    expect(Buffer.byteLength(text), about).toBeLessThanOrEqual(64 * 1024);
    expect(text, about).toBe(fittedText(whole));
    expect(cut.zones.length + (cut.zones_truncated ?? 0), about).toBe(zones.length);
    expect(cut.certs.length + (cut.certs_truncated ?? 0), about).toBe(whole.certs.length);
    for (const [i, { top_sources, sources_truncated = 0 }] of cut.zones.entries()) {
      const before = zones[i]?.top_sources.filter(wouldBe).length ?? 0;
      expect(top_sources.filter(wouldBe).length + sources_truncated, about).toBe(before);
    }
  }
});
