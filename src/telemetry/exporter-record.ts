/** The record of an exporter between readings, and how a reading changes it. Pure: `now` is an argument. */
import { MINUTE_MS } from "../system/now.ts";
import {
  EXPORTER_FAULTS,
  type ExporterTerms,
  FAULT_TIMES,
  type FaultKind,
  type Observed,
  type Symptom,
  symptomOf,
} from "./exporter-faults.ts";
import { between, MARK_MS, type Mark, markOf, marksWith, type Totals } from "./exporter-minute.ts";
import type { ExporterReading } from "./exporter-reading.ts";

export interface ExporterRecord {
  readonly reading: ExporterReading;
  readonly readAtMs: number;
  readonly marks: readonly Mark[];
  readonly faults: ReadonlyMap<FaultKind, FaultRecord>;
}

/** Times of the monotonic clock, ms. */
interface FaultRecord {
  /** Since when there is the symptom without a break; null: there is none now. */
  readonly symptomSinceMs: number | null;
  /** Since when it is gone; null: it is not. */
  readonly goneSinceMs: number | null;
  /** When the fault began; null: it has not. */
  readonly begunAtMs: number | null;
  readonly text: string;
}

export interface FaultChange {
  readonly kind: FaultKind;
  readonly change: "begun" | "ended";
  readonly text: string;
}

/** The least time that counts of a minute are taken from, ms. */
const LEAST_MS = MARK_MS;

export function nextRecord(
  before: ExporterRecord | null,
  reading: ExporterReading,
  terms: ExporterTerms,
  nowMs: number,
): { readonly record: ExporterRecord; readonly changes: readonly FaultChange[] } {
  // Counters that went down are those of a later exporter with the same address.
  const known = before !== null && before.reading.datagrams <= reading.datagrams ? before : null;
  const mark = markOf(reading, nowMs);
  const marks = marksWith(known?.marks ?? [], mark);
  const observed: Observed = {
    reading,
    minute: minuteOf(marks, mark),
    recent: totalsOver(marks, mark, MARK_MS),
    terms,
  };
  const faults = new Map<FaultKind, FaultRecord>();
  const changes: FaultChange[] = [];
  const isSilent = symptomOf("silent", observed).verdict === "begins";
  for (const kind of EXPORTER_FAULTS) {
    const was = (known ?? before)?.faults.get(kind) ?? NONE;
    // Nothing new is known of one that is silent.
    const fault = isSilent && kind !== "silent" ? was : nextFault(kind, was, symptomOf(kind, observed), nowMs);
    faults.set(kind, fault);
    if ((was.begunAtMs === null) === (fault.begunAtMs === null)) continue;
    changes.push({ kind, change: fault.begunAtMs === null ? "ended" : "begun", text: fault.text });
  }
  return { record: { reading, readAtMs: nowMs, marks, faults }, changes };
}

const NONE: FaultRecord = { symptomSinceMs: null, goneSinceMs: null, begunAtMs: null, text: "" };

function nextFault(kind: FaultKind, was: FaultRecord, { verdict, text }: Symptom, nowMs: number): FaultRecord {
  const { beginMs, endMs } = FAULT_TIMES[kind];
  switch (verdict) {
    case "begins": {
      const symptomSinceMs = was.symptomSinceMs ?? nowMs;
      const isDue = nowMs - symptomSinceMs >= beginMs;
      return { symptomSinceMs, goneSinceMs: null, begunAtMs: was.begunAtMs ?? (isDue ? nowMs : null), text };
    }
    case "ends": {
      if (was.begunAtMs === null) return NONE;
      const goneSinceMs = was.goneSinceMs ?? nowMs;
      if (nowMs - goneSinceMs >= endMs) return { ...NONE, text: was.text };
      return { ...was, symptomSinceMs: null, goneSinceMs };
    }
    case "between":
      // A fault that has not begun needs its symptom all the time, and one that ends needs it gone all the time.
      return was.begunAtMs === null ? NONE : { ...was, goneSinceMs: null };
    case "unknown":
      return was;
    default:
      return verdict satisfies never;
  }
}

/** null: the time is too short to say anything. */
export function minuteOf(marks: readonly Mark[], now: Mark): Totals | null {
  return totalsOver(marks, now, MINUTE_MS);
}

/** The totals of this time at least, if the marks reach back that far. */
function totalsOver(marks: readonly Mark[], now: Mark, ageMs: number): Totals | null {
  const from = markBefore(marks, now.atMs, ageMs);
  return from === null || now.atMs - from.atMs < LEAST_MS ? null : between(from, now);
}

/** The latest mark that is at least so old; the oldest if none is. */
export function markBefore(marks: readonly Mark[], nowMs: number, ageMs: number): Mark | null {
  return marks.findLast((one) => nowMs - one.atMs >= ageMs) ?? marks[0] ?? null;
}
