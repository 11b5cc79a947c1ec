/** The work of an exporter in the last minute, from readings of its counters. Pure: the caller keeps the marks. */
import { MINUTE_MS } from "../system/now.ts";
import type { ExporterReading, InterfaceCounts, InterfaceReading } from "./exporter-reading.ts";

/** Counters of one reading that later ones are compared with. */
export interface Mark {
  readonly atMs: number;
  readonly totals: Totals;
  /** null: of an older one, they are not needed any more. */
  readonly interfaces: readonly InterfaceReading[] | null;
}

export interface Totals {
  readonly datagrams: number;
  readonly records: number;
  readonly counted: number;
  readonly leftOut: number;
  /** Undecoded parts, and those among them that have no template. */
  readonly undecoded: number;
  readonly withoutTemplate: number;
  readonly unknownRateRecords: number;
  readonly droppedSamples: number;
  /** Records that cannot be, and sampling rates that cannot. */
  readonly impossible: number;
  readonly impossibleRates: number;
  readonly countedLate: number;
  readonly untrackedFlows: number;
  readonly lostRecords: number;
  readonly lostDatagrams: number;
  /** Traffic by the interfaces that are known, by which it came in. */
  readonly packets: number;
  readonly bytes: number;
}

export const MARK_MS = 10_000;
/** Marks that keep their interfaces, for rates. */
const WHOLE_MARKS = 2;

/** Records that cannot be, whatever the network does; see exporter-faults.ts. */
export const IMPOSSIBLE = ["impossible_length", "impossible_count", "impossible_speed"] as const;
const WITHOUT_TEMPLATE = ["template_unknown", "template_room"];

export function markOf(reading: ExporterReading, atMs: number): Mark {
  const { datagrams, records, counted, leftOut, undecodedByKind, interfaces } = reading;
  const { lostRecords, lostDatagrams, unknownRateRecords, droppedSamples } = reading;
  const { impossibleRates, countedLate, untrackedFlows } = reading;
  return {
    atMs,
    totals: {
      ...{ datagrams, records, counted, lostRecords, lostDatagrams, unknownRateRecords, droppedSamples },
      ...{ impossibleRates, countedLate, untrackedFlows },
      leftOut: sum(Object.values(leftOut)),
      impossible: sum(IMPOSSIBLE.map((kind) => leftOut[kind] ?? 0)),
      undecoded: sum(Object.values(undecodedByKind)),
      withoutTemplate: sum(WITHOUT_TEMPLATE.map((kind) => undecodedByKind[kind] ?? 0)),
      packets: sum(interfaces.map(({ packetsIn }) => packetsIn)),
      bytes: sum(interfaces.map(({ bytesIn }) => bytesIn)),
    },
    interfaces,
  };
}

/** With a new mark, and without those that no minute needs; oldest first, at most eight. */
export function marksWith(marks: readonly Mark[], mark: Mark): readonly Mark[] {
  const last = marks.at(-1);
  if (last !== undefined && mark.atMs - last.atMs < MARK_MS) return marks;
  const from = marks.findLastIndex((one) => mark.atMs - one.atMs >= MINUTE_MS);
  const kept = marks.slice(Math.max(0, from));
  const [old, young] = [kept.slice(0, 1 - WHOLE_MARKS), kept.slice(1 - WHOLE_MARKS)];
  return [...old.map((one) => (one.interfaces === null ? one : { ...one, interfaces: null })), ...young, mark];
}

/** Counts of the time between two marks. */
export function between(from: Mark, to: Mark): Totals {
  const grown = (key: keyof Totals) => Math.max(0, to.totals[key] - from.totals[key]);
  return {
    ...{ datagrams: grown("datagrams"), records: grown("records"), counted: grown("counted") },
    ...{ leftOut: grown("leftOut"), undecoded: grown("undecoded"), withoutTemplate: grown("withoutTemplate") },
    ...{ unknownRateRecords: grown("unknownRateRecords"), droppedSamples: grown("droppedSamples") },
    ...{ lostRecords: grown("lostRecords"), lostDatagrams: grown("lostDatagrams") },
    ...{ impossible: grown("impossible"), impossibleRates: grown("impossibleRates") },
    ...{ countedLate: grown("countedLate"), untrackedFlows: grown("untrackedFlows") },
    ...{ packets: grown("packets"), bytes: grown("bytes") },
  };
}

/** Counts of each interface of the later one. */
export function interfacesBetween(from: Mark, to: Mark): readonly InterfaceReading[] {
  const before = new Map((from.interfaces ?? []).map((one) => [one.index, one]));
  return (to.interfaces ?? []).map((now) => {
    const then = before.get(now.index);
    const grown = (key: keyof InterfaceCounts) => Math.max(0, now[key] - (then?.[key] ?? 0));
    return {
      ...now,
      ...{ recordsIn: grown("recordsIn"), packetsIn: grown("packetsIn"), bytesIn: grown("bytesIn") },
      ...{ recordsOut: grown("recordsOut"), packetsOut: grown("packetsOut"), bytesOut: grown("bytesOut") },
    };
  });
}

/** The lost share of the records sent, 0 to 1; samples that an agent could not take are lost as well. */
export function lossOf({ records, lostRecords, datagrams, lostDatagrams, droppedSamples }: Totals): number {
  const share = (lost: number, came: number) => (lost === 0 ? 0 : lost / (lost + came));
  return Math.max(share(lostRecords, records), share(lostDatagrams, datagrams), share(droppedSamples, records));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
