import { describe, expect, test } from "bun:test";
import { exporterReading } from "../../test/fixtures/telemetry/exporters.ts";
import type { ExporterReading, Sampling } from "./exporter-reading.ts";
import { type ExporterRecord, nextRecord } from "./exporter-record.ts";

const TERMS = { silentAfterMs: 60_000, hasRate: false };

interface Course {
  readonly seconds: number;
  /** Of the first reading. */
  readonly fromSeconds?: number;
  readonly everySeconds?: number;
  /** What the exporter has at a second since its start, at which all its counters are 0. */
  readonly at: (second: number) => Partial<ExporterReading>;
}

/** The faults that begin and end, as `70 s unknown_sampling begun`. */
function changesOf({ seconds, fromSeconds = 0, everySeconds = 2, at }: Course): string[] {
  const reported: string[] = [];
  let record: ExporterRecord | null = null;
  for (let second = fromSeconds; second <= seconds; second += everySeconds) {
    const next = nextRecord(record, exporterReading(at(second)), TERMS, 1000 * second);
    reported.push(...next.changes.map(({ kind, change }) => `${second} s ${kind} ${change}`));
    record = next.record;
  }
  return reported;
}

/** What has come by a second of what comes at a rate between two seconds. */
function grown(perSecond: number, second: number, [from, to]: readonly [number, number]): number {
  return perSecond * Math.max(0, Math.min(second, to) - from);
}

const ALWAYS = [0, Infinity] as const;
const counted = (records: number) => ({ records, counted: records });
const ALIGNMENTS = Array.from({ length: 20 }, (_, i) => [i / 2]);

describe("unknown_sampling", () => {
  test.each(ALIGNMENTS)("a single record of unknown rate is no fault, read from %d s on", (fromSeconds) => {
    const at = (second: number) => {
      const one = second >= 30 ? 1 : 0;
      return { datagrams: 1 + second, ...counted(one), unknownRateRecords: one };
    };
    expect(changesOf({ seconds: 240, fromSeconds, at })).toEqual([]);
  });

  test.each(ALIGNMENTS)("options that come 25 s after the start are in time, read from %d s on", (fromSeconds) => {
    const at = (second: number) => ({
      datagrams: 1 + second,
      ...counted(grown(100, second, ALWAYS)),
      unknownRateRecords: grown(100, second, [0, 25]),
    });
    expect(changesOf({ seconds: 240, fromSeconds, at })).toEqual([]);
  });

  test("begins after a minute of a rate that stays unknown, and ends soon after it is known", () => {
    const at = (second: number) => ({
      datagrams: 1 + second,
      ...counted(grown(100, second, ALWAYS)),
      unknownRateRecords: grown(100, second, [0, 100]),
    });
    expect(changesOf({ seconds: 240, at })).toEqual(["70 s unknown_sampling begun", "110 s unknown_sampling ended"]);
  });

  test("begins too where records are 25 s apart, stays between them, and ends a minute after the last", () => {
    const at = (second: number) => {
      const records = Math.min(6, Math.floor(second / 25));
      return { datagrams: 1 + second, ...counted(records), unknownRateRecords: records };
    };
    expect(changesOf({ seconds: 400, at })).toEqual(["86 s unknown_sampling begun", "210 s unknown_sampling ended"]);
  });
});

describe("undecodable", () => {
  test.each(ALIGNMENTS)("templates that come 30 s after the start are in time, read from %d s on", (fromSeconds) => {
    const at = (second: number) => ({
      datagrams: 1 + second,
      ...counted(grown(100, second, [30, Infinity])),
      undecodedByKind: { template_unknown: grown(100, second, [0, 30]) },
      waitingBytes: second < 30 ? 1400 : 0,
    });
    expect(changesOf({ seconds: 240, fromSeconds, at })).toEqual([]);
  });

  test.each(ALIGNMENTS)(
    "a burst without templates, and then nothing, is no fault, read from %d s on",
    (fromSeconds) => {
      const at = (second: number) => ({
        datagrams: 1 + grown(10, second, [20, 25]),
        ...counted(0),
        undecodedByKind: { template_unknown: grown(10, second, [20, 25]) },
      });
      expect(changesOf({ seconds: 240, fromSeconds, at })).toEqual([]);
    },
  );

  test("begins where one of twenty line cards has no template, however many records the others have", () => {
    const at = (second: number) => ({
      datagrams: 20 * (1 + second),
      ...counted(19 * 24 * second),
      undecodedByKind: { template_unknown: second },
    });
    expect(changesOf({ seconds: 300, at })).toEqual(["70 s undecodable begun"]);
  });

  test("begins too where what is not understood comes every 25 s, and stays in between", () => {
    const at = (second: number) => ({
      datagrams: 1 + Math.floor(second / 25),
      ...counted(0),
      undecodedByKind: { field_length: 20 * Math.floor(second / 25) },
    });
    expect(changesOf({ seconds: 300, at })).toEqual(["86 s undecodable begun"]);
  });
});

describe("lying", () => {
  const reading = (second: number, impossible: number) => ({
    ...{ datagrams: 1 + second, ...counted(100 * second) },
    leftOut: { impossible_count: impossible },
  });

  test("begins with one value that cannot be, and ends a minute after the last left the minute", () => {
    const at = (second: number) => reading(second, second >= 30 ? 1 : 0);
    expect(changesOf({ seconds: 300, at })).toEqual(["30 s lying begun", "150 s lying ended"]);
  });

  test.each([
    ["a rate that changes often, as of adaptive sampling", "sample"],
    ["a rate that options change", "options"],
  ])("%s is none", (_, origin) => {
    const samplings = (second: number): Sampling[] => [
      { domain: 0, sampler: 1, rate: second % 4 === 0 ? 100 : 1000, origin },
    ];
    expect(
      changesOf({ seconds: 300, at: (second) => ({ ...reading(second, 0), samplings: samplings(second) }) }),
    ).toEqual([]);
  });
});

test("times_off: records that count when they come, since all of the exporter are late", () => {
  const at = (second: number) => ({
    ...{ datagrams: 1 + second, ...counted(2 * second) },
    countedLate: grown(2, second, [0, 100]),
  });
  expect(changesOf({ seconds: 300, at })).toEqual(["10 s times_off begun", "220 s times_off ended"]);
});

test("no_records: datagrams without a record for ten minutes, until one comes", () => {
  const at = (second: number) => ({ datagrams: 1 + second, ...counted(second >= 800 ? second - 800 : 0) });
  expect(changesOf({ seconds: 900, at })).toEqual(["610 s no_records begun", "802 s no_records ended"]);
});
