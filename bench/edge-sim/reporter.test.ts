import { expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import type { ReportWire } from "./node-report.ts";
import { Reporter } from "./reporter.ts";
import { readDocument } from "./zone-document.ts";

const POLICY = { mode: "decide", challenge: "off", rate: {}, dry_run: false };
const OPTIONS = { dry_run: false, auto: { zone_rps: 0, hold_seconds: 300 } };
const ZONES = ["a.example", "b.example"].map((name) => ({
  name,
  origins: [],
  tls: { min_version: "1.2" },
  policy: { ...POLICY, challenge_options: OPTIONS },
  clearance_keys: [{ id: "c20260301", secret: "s" }],
}));
const DOCUMENT = readDocument(JSON.stringify({ version: 1, zones: ZONES, acme_challenges: [], issuance_grants: [] }));

/** The reports of consecutive windows; the document changes with the fifth. */
async function sentIn(windows: number, reportsKept: number | null): Promise<ReportWire[]> {
  const clock = new ManualClock();
  const sent: ReportWire[] = [];
  const reporter = new Reporter({
    ...{ node: "e1", seed: 1, windowSeconds: 10, isDryRun: false, reportsKept, clock, timers: new ManualTimers(clock) },
    channel: {
      report: async (body) => {
        sent.push(JSON.parse(body) as ReportWire);
        return { kind: "done" };
      },
    },
    rendered: () => ({
      document: DOCUMENT,
      etag: sent.length < 4 ? '"first"' : '"second"',
      generation: 1,
      certificates: new Map(),
    }),
    onReport: () => {},
  });
  for (let i = 0; i < windows; i++) {
    clock.advance(10_000);
    await reporter.report();
  }
  return sent;
}

const countsOf = ({ zones }: ReportWire) => zones.map((zone) => ({ ...zone, at: null }));
const timesOf = (sent: readonly ReportWire[]) => sent.map(({ zones }) => new Set(zones.map(({ at }) => at)));

test("each report is new, and its windows end where they do", async () => {
  const sent = await sentIn(4, null);
  expect(new Set(sent.map((report) => JSON.stringify(countsOf(report)))).size).toBe(4);
  expect(new Set(timesOf(sent).flatMap((times) => [...times])).size).toBe(4);
});

test("kept reports are repeated in turn with current times until the document changes", async () => {
  const [fresh, sent] = [await sentIn(7, null), await sentIn(7, 2)];
  expect(timesOf(sent)).toEqual(timesOf(fresh));
  expect(sent.slice(0, 2)).toEqual(fresh.slice(0, 2));
  expect(sent.slice(2, 4).map(countsOf)).toEqual([countsOf(sent[0] as ReportWire), countsOf(sent[1] as ReportWire)]);
  expect(sent.slice(4, 6)).toEqual(fresh.slice(4, 6));
  expect(sent.map(({ zones_etag }) => zones_etag)).toEqual(fresh.map(({ zones_etag }) => zones_etag));
});
