/**
 * The exporters of flow telemetry: takes what the packet counter says of them, keeps their faults, and has the view of
 * each that is shown. An exporter of the configuration that never sent a datagram is shown too. Does not know where
 * readings come from.
 */
import { parseAddress } from "../net/address.ts";
import { prefixContains } from "../net/prefix.ts";
import { durationText } from "./duration-text.ts";
import { EXPORTER_FAULTS, type ExporterTerms, FAULT_REMEDIES, type FaultKind } from "./exporter-faults.ts";
import { between, interfacesBetween, lossOf, type Mark, markOf } from "./exporter-minute.ts";
import { type ExporterReading, exporterKey, type InterfaceCounts } from "./exporter-reading.ts";
import { type ExporterRecord, type FaultChange, markBefore, minuteOf, nextRecord } from "./exporter-record.ts";
import type { ExporterConfig } from "./telemetry-config.ts";

/** `standby`: another of its site counts. `waiting`: no datagram of it has come yet. */
export const EXPORTER_STATES = ["ok", "standby", "waiting", ...EXPORTER_FAULTS] as const;
export type ExporterState = (typeof EXPORTER_STATES)[number];

export interface ExporterView {
  /** The name of its entry in the configuration; null: the entry is gone. */
  readonly name: string | null;
  /** A prefix for an entry with one of which no exporter sent a datagram. */
  readonly address: string;
  readonly site: string | null;
  readonly state: ExporterState;
  /** The worst first. */
  readonly faults: readonly Fault[];
  /** null: no datagram of it was received. */
  readonly received: ReceivedView | null;
}

interface Fault {
  readonly kind: FaultKind;
  /** Monotonic, ms. */
  readonly begunAtMs: number;
  readonly text: string;
  readonly remedy: string;
}

export interface ReceivedView {
  readonly reading: ExporterReading;
  /** Monotonic, ms. */
  readonly readAtMs: number;
  /** Over the last ten seconds or more, per second; null: it is known for less. */
  readonly rates: ExporterRates | null;
  /** Rates of each interface of the reading, in the same order, as above. */
  readonly interfaceRates: readonly InterfaceRates[] | null;
  /** The lost share of the records in the last minute, 0 to 1; null: it is known for less than ten seconds. */
  readonly loss: number | null;
}

/** Rates of all its records, counted or not; packets and bits multiplied by the sampling rate. */
interface ExporterRates {
  readonly datagrams: number;
  readonly records: number;
  readonly counted: number;
  readonly pps: number;
  readonly mbps: number;
}

export interface InterfaceRates {
  readonly ppsIn: number;
  readonly mbpsIn: number;
  readonly ppsOut: number;
  readonly mbpsOut: number;
}

/** A fault of an exporter that begins or ends. */
export interface ExporterChange extends FaultChange {
  readonly view: ExporterView;
}

/** One fault of one exporter, from its begin to its end. */
export function faultKey({ kind, view: { received, name } }: ExporterChange): string {
  return `${kind} ${received === null ? name : exporterKey(received.reading)}`;
}

const RATE_MS = 10_000;
/** How long an exporter in whose place another came is shown. */
const FORGOTTEN_MS = 86_400_000;

export class Exporters {
  #config: readonly ExporterConfig[];
  /** By name. */
  #byName: ReadonlyMap<string, ExporterConfig>;
  #records: ReadonlyMap<string, ExporterRecord> = new Map();
  /** Views of all records, made when they are first requested. */
  #recordViews: readonly ExporterView[] | null = null;
  /** By the name of an entry: when it began to wait for its first datagram, and whether that was reported. */
  readonly #waiting = new Map<string, { readonly sinceMs: number; isReported: boolean }>();

  /** All that sent, by entry, made when they are first requested. */
  #sent: ReadonlyMap<string | null, readonly ExporterReading[]> | null = null;
  readonly #sinceMs: number;

  constructor(config: readonly ExporterConfig[], nowMs: number) {
    this.#sinceMs = nowMs;
    this.#config = config;
    this.#byName = new Map(config.map((one) => [one.name, one]));
    this.#await(nowMs);
  }

  reconfigure(config: readonly ExporterConfig[], nowMs: number): void {
    this.#recordViews = null;
    this.#config = config;
    this.#byName = new Map(config.map((one) => [one.name, one]));
    this.#await(nowMs);
  }

  /**
   * Sets all exporters as they are now. Removes those that are gone or were replaced by another of the same entry.
   * Returns the faults that changed.
   */
  take(readings: readonly ExporterReading[], nowMs: number): readonly ExporterChange[] {
    const records = new Map<string, ExporterRecord>();
    const changes: ExporterChange[] = [];
    const sending = new Set(readings.filter((reading) => !this.#isSilent(reading)).map(({ name }) => name));
    for (const reading of readings) {
      const key = exporterKey(reading);
      if (reading.silentMs >= FORGOTTEN_MS && sending.has(reading.name)) {
        changes.push(...this.#forgotten(key));
        continue;
      }
      const next = nextRecord(this.#records.get(key) ?? null, reading, termsOf(this.#entryOf(reading.name)), nowMs);
      records.set(key, next.record);
      for (const change of next.changes) changes.push({ ...change, view: this.#viewOf(next.record) });
    }
    this.#records = records;
    this.#recordViews = null;
    this.#sent = null;
    return [...changes, ...this.#waitingChanges(readings, nowMs)];
  }

  /** In the order of the configuration; of one entry by address. */
  views(nowMs: number): readonly ExporterView[] {
    this.#recordViews ??= [...this.#records.values()].map((record) => this.#viewOf(record));
    const ofRecords = this.#recordViews;
    const byName = Map.groupBy(ofRecords, ({ name }) => name);
    const configured = this.#config.flatMap((entry) => {
      const own = byName.get(entry.name);
      return own === undefined ? [this.#viewWithoutDatagram(entry, nowMs)] : own.toSorted(byAddress);
    });
    return [...configured, ...ofRecords.filter(({ name }) => this.#entryOf(name) === null).toSorted(byAddress)];
  }

  /**
   * Whether it has sent nothing since the start, so that faults of it, other than its silence, cannot be found. Not of one that
   * the configuration has no more, or in whose place another of its entry sends. @param address as its view has it.
   */
  isUnseen({ name, address }: { readonly name: string; readonly address: string }, nowMs: number): boolean {
    const entry = this.#byName.get(name);
    const own = parseAddress(address);
    const isOfEntry =
      entry !== undefined && (own === null ? entry.prefix.text === address : prefixContains(entry.prefix, own));
    if (!isOfEntry) return false;
    this.#sent ??= Map.groupBy(
      [...this.#records.values()].map(({ reading }) => reading),
      (reading) => reading.name,
    );
    const sent = this.#sent.get(name) ?? [];
    const isReplaced = sent.length > 0 && nowMs - this.#sinceMs >= FORGOTTEN_MS;
    return !isReplaced && (own === null ? sent.length === 0 : !sent.some((reading) => reading.address === own));
  }

  /** The keys of all faults that have begun and not ended. */
  lastingFaults(): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const [key, { faults }] of this.#records) {
      for (const [kind, { begunAtMs }] of faults) if (begunAtMs !== null) keys.add(`${kind} ${key}`);
    }
    for (const [name, { isReported }] of this.#waiting) if (isReported) keys.add(`silent ${name}`);
    return keys;
  }

  #isSilent({ name, silentMs }: ExporterReading): boolean {
    return silentMs >= termsOf(this.#entryOf(name)).silentAfterMs;
  }

  /** The ends of the faults of an exporter, at its last reading. */
  #forgotten(key: string): readonly ExporterChange[] {
    const record = this.#records.get(key);
    if (record === undefined) return [];
    const view = this.#viewOf(record);
    const text = "it has been silent for a day, while another of its entry sends";
    return view.faults.map(({ kind }) => ({ kind, change: "ended", text, view }));
  }

  #entryOf(name: string | null): ExporterConfig | null {
    return (name === null ? undefined : this.#byName.get(name)) ?? null;
  }

  #viewOf(record: ExporterRecord): ExporterView {
    const { reading, readAtMs, marks } = record;
    const entry = this.#entryOf(reading.name);
    const faults = EXPORTER_FAULTS.flatMap((kind): Fault[] => {
      const { begunAtMs = null, text = "" } = record.faults.get(kind) ?? {};
      return begunAtMs === null ? [] : [{ kind, begunAtMs, text, remedy: FAULT_REMEDIES[kind] }];
    });
    const now = markOf(reading, readAtMs);
    const minute = minuteOf(marks, now);
    return {
      name: entry?.name ?? null,
      address: reading.address,
      site: entry?.site ?? null,
      state: faults[0]?.kind ?? (reading.isActive ? "ok" : "standby"),
      faults,
      received: { reading, readAtMs, ...ratesOf(marks, now), loss: minute === null ? null : lossOf(minute) },
    };
  }

  #viewWithoutDatagram(entry: ExporterConfig, nowMs: number): ExporterView {
    const { name, prefix, site } = entry;
    const waiting = this.#waiting.get(name);
    const address = isOneAddress(entry) ? prefix.address : prefix.text;
    if (waiting?.isReported !== true) return { name, address, site, state: "waiting", faults: [], received: null };
    const fault: Fault = {
      kind: "silent",
      begunAtMs: waiting.sinceMs + 1000 * entry.silentAfterSeconds,
      text: `no datagram yet, for ${durationText(nowMs - waiting.sinceMs)}`,
      remedy: FAULT_REMEDIES.silent,
    };
    return { name, address, site, state: "silent", faults: [fault], received: null };
  }

  #await(nowMs: number): void {
    for (const name of this.#waiting.keys()) if (!this.#byName.has(name)) this.#waiting.delete(name);
    for (const { name } of this.#config) {
      if (!this.#waiting.has(name)) this.#waiting.set(name, { sinceMs: nowMs, isReported: false });
    }
  }

  /** Faults of entries that begin because no datagram has come yet, or end with the first one. */
  *#waitingChanges(readings: readonly ExporterReading[], nowMs: number): Generator<ExporterChange> {
    const received = new Set(readings.map(({ name }) => name));
    for (const entry of this.#config) {
      const waiting = this.#waiting.get(entry.name);
      if (waiting === undefined) continue;
      if (received.has(entry.name)) {
        // The own record of an exporter reports that it falls silent; a new one may yet come after it is forgotten.
        this.#waiting.set(entry.name, { sinceMs: nowMs, isReported: false });
        if (!waiting.isReported) continue;
        yield {
          kind: "silent",
          change: "ended",
          text: "first datagram",
          view: this.#viewWithoutDatagram(entry, nowMs),
        };
      } else if (!waiting.isReported && nowMs - waiting.sinceMs >= 1000 * entry.silentAfterSeconds) {
        waiting.isReported = true;
        const view = this.#viewWithoutDatagram(entry, nowMs);
        yield { kind: "silent", change: "begun", text: view.faults[0]?.text ?? "", view };
      }
    }
  }
}

function termsOf(entry: ExporterConfig | null): ExporterTerms {
  if (entry === null) return { silentAfterMs: Infinity, hasRate: false };
  return { silentAfterMs: 1000 * entry.silentAfterSeconds, hasRate: entry.samplingRate !== null };
}

function ratesOf(marks: readonly Mark[], now: Mark): Pick<ReceivedView, "rates" | "interfaceRates"> {
  const from = markBefore(
    marks.filter(({ interfaces }) => interfaces !== null),
    now.atMs,
    RATE_MS,
  );
  const seconds = from === null ? 0 : (now.atMs - from.atMs) / 1000;
  if (from === null || 1000 * seconds < RATE_MS) return { rates: null, interfaceRates: null };
  const { datagrams, records, counted, packets, bytes } = between(from, now);
  return {
    rates: {
      datagrams: datagrams / seconds,
      records: records / seconds,
      counted: counted / seconds,
      pps: packets / seconds,
      mbps: mbpsOf(bytes, seconds),
    },
    interfaceRates: interfacesBetween(from, now).map((counts) => interfaceRatesOf(counts, seconds)),
  };
}

function interfaceRatesOf(counts: InterfaceCounts, seconds: number): InterfaceRates {
  return {
    ppsIn: counts.packetsIn / seconds,
    mbpsIn: mbpsOf(counts.bytesIn, seconds),
    ppsOut: counts.packetsOut / seconds,
    mbpsOut: mbpsOf(counts.bytesOut, seconds),
  };
}

function mbpsOf(bytes: number, seconds: number): number {
  return (8 * bytes) / seconds / 1e6;
}

function isOneAddress({ prefix: { family, length } }: ExporterConfig): boolean {
  return length === (family === 4 ? 32 : 128);
}

function byAddress(a: ExporterView, b: ExporterView): number {
  return a.address < b.address ? -1 : Number(a.address > b.address);
}

/** How many are in each state. */
export function countStates(views: readonly ExporterView[]): Readonly<Record<ExporterState, number>> {
  const counts = Object.fromEntries(EXPORTER_STATES.map((state) => [state, 0])) as Record<ExporterState, number>;
  for (const { state } of views) counts[state]++;
  return counts;
}
