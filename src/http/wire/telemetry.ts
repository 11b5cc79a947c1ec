/** Exporters of flow telemetry on the wire (docs/interface.md#telemetry). */
import { type Static, Type } from "@sinclair/typebox";
import type { IpAddress } from "../../net/address.ts";
import { Count, closedObject, oneOf, Rate } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { beliefsOf } from "../../telemetry/beliefs.ts";
import { EXPORTER_FAULTS } from "../../telemetry/exporter-faults.ts";
import type { InterfaceReading } from "../../telemetry/exporter-reading.ts";
import {
  EXPORTER_STATES,
  type ExporterState,
  type ExporterView,
  type InterfaceRates,
  type ReceivedView,
} from "../../telemetry/exporters.ts";
import type { ListenerReading } from "../../telemetry/listener-reading.ts";
import type { TelemetryView } from "../../telemetry/telemetry-view.ts";
import { omitNulls } from "./omit-nulls.ts";

const ListenerWire = closedObject({
  listen: Type.String(),
  threads: Count,
  /** Why it does not receive; absent: it does. */
  error: Type.Optional(Type.String()),
  datagrams: Count,
  bytes: Count,
  /** Lost because the receive buffer was full. */
  lost_datagrams: Count,
  receive_buffer_bytes: Count,
  receive_buffer_used_bytes: Count,
  /** Datagrams of addresses that are no exporter, and the last of these addresses. */
  refused_datagrams: Count,
  refused_addresses: Type.Array(Type.String()),
  no_room_datagrams: Count,
  /** With more packets, bytes or time than there can be: counted as the most; too many to be spread over their time. */
  clamped_records: Count,
  unspread_records: Count,
});

const FaultWire = closedObject({
  kind: oneOf(...EXPORTER_FAULTS),
  since: Timestamp,
  text: Type.String(),
  remedy: Type.String(),
});

const InterfaceWire = closedObject({
  /** ifIndex; 0: the exporter did not say. */
  index: Count,
  name: Type.Optional(Type.String()),
  role: Type.String(),
  records_in: Count,
  records_out: Count,
  /** Estimates, absent for the first ten seconds. */
  pps_in: Type.Optional(Rate),
  mbps_in: Type.Optional(Rate),
  pps_out: Type.Optional(Rate),
  mbps_out: Type.Optional(Rate),
});
type InterfaceWire = Static<typeof InterfaceWire>;

/** `interfaces`: if one address was requested. Before the first datagram only the identifying fields are present. */
export const ExporterWire = closedObject({
  /** Absent: its entry of the configuration is gone. */
  name: Type.Optional(Type.String()),
  address: Type.String(),
  site: Type.Optional(Type.String()),
  state: oneOf(...EXPORTER_STATES),
  faults: Type.Array(FaultWire),
  listen: Type.Optional(Type.String()),
  protocols: Type.Optional(Type.Array(Type.String())),
  last_seen: Type.Optional(Timestamp),
  /** Age of everything here. */
  age_seconds: Type.Optional(Rate),
  /** Over the last ten to twenty seconds; packets and bits are estimates, of all its records, counted or not. */
  rates: Type.Optional(
    closedObject({ datagrams_per_sec: Rate, records_per_sec: Rate, counted_per_sec: Rate, pps: Rate, mbps: Rate }),
  ),
  /** The lost share of the records in the last minute, 0 to 1. */
  loss: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  datagrams: Type.Optional(Count),
  bytes: Type.Optional(Count),
  records: Type.Optional(Count),
  counted_records: Type.Optional(Count),
  /** By reason, only those above zero. */
  left_out_records: Type.Optional(Type.Record(Type.String(), Count)),
  /** Those that count no packet: a firewall's events; and those of options and interface counters. */
  event_records: Type.Optional(Count),
  other_records: Type.Optional(Count),
  /** Records whose packets or bytes are estimated, since the exporter reports only the other. */
  estimated_records: Type.Optional(Count),
  unknown_rate_records: Type.Optional(Count),
  late_records: Type.Optional(Count),
  /** Late records that counted when they came, since all of the exporter are late. */
  counted_late_records: Type.Optional(Count),
  /** Sampling rates that cannot be, and were not taken; records that cannot be are in `left_out_records`. */
  impossible_rates: Type.Optional(Count),
  /** Flows whose totals found no place. */
  untracked_flows: Type.Optional(Count),
  /** Understood, and no traffic of IP: by kind, only those above zero. */
  not_for_us: Type.Optional(Type.Record(Type.String(), Count)),
  lost_records: Type.Optional(Count),
  lost_datagrams: Type.Optional(Count),
  reordered_datagrams: Type.Optional(Count),
  duplicate_datagrams: Type.Optional(Count),
  /** Packets that an sFlow agent could not sample, as it says itself. */
  dropped_samples: Type.Optional(Count),
  restarts: Type.Optional(Count),
  templates: Type.Optional(Count),
  /** Those that found no room, and those that gave theirs to others. */
  templates_refused: Type.Optional(Count),
  templates_displaced: Type.Optional(Count),
  template_changes: Type.Optional(Count),
  /** Sets kept until their template came, those that it came for, and bytes that wait now. */
  kept_sets: Type.Optional(Count),
  recovered_sets: Type.Optional(Count),
  waiting_bytes: Type.Optional(Count),
  /** By kind, only those above zero; and the first reasons, which name version, set or field. */
  undecoded_by_kind: Type.Optional(Type.Record(Type.String(), Count)),
  undecoded: Type.Optional(Type.Array(closedObject({ kind: Type.String(), reason: Type.String(), count: Count }))),
  clock_skew_ms: Type.Optional(Type.Number()),
  /** The exporter as it is understood: make, rate, counters, times, interfaces, and what is left out. */
  beliefs: Type.Optional(Type.Array(closedObject({ about: Type.String(), text: Type.String() }))),
  sampling: Type.Optional(
    Type.Array(
      closedObject({
        domain: Count,
        sampler: Count,
        /** Sampling rate, as one packet in this number; absent: not known. */
        rate: Type.Optional(Count),
        origin: Type.String(),
      }),
    ),
  ),
  interfaces: Type.Optional(Type.Array(InterfaceWire)),
});
export type ExporterWire = Static<typeof ExporterWire>;

export const TelemetryWire = closedObject({
  /** False: no flow telemetry is configured, and the lists are empty. */
  enabled: Type.Boolean(),
  /** When it was read; absent: not yet. */
  read_at: Type.Optional(Timestamp),
  listeners: Type.Array(ListenerWire),
  exporters: Type.Array(ExporterWire),
});
export type TelemetryWire = Static<typeof TelemetryWire>;

/** In the status: how many exporters there are, how many have a fault, and how many are in each state that one is in. */
export const TelemetrySummaryWire = closedObject({
  exporters: Count,
  faulty: Count,
  states: Type.Record(Type.String(), Count),
});

export function telemetrySummaryToWire(
  states: Readonly<Record<ExporterState, number>>,
): Static<typeof TelemetrySummaryWire> {
  const sum = (kinds: readonly ExporterState[]) => kinds.reduce((total, kind) => total + states[kind], 0);
  return {
    exporters: sum(EXPORTER_STATES),
    faulty: sum(EXPORTER_FAULTS),
    states: Object.fromEntries(Object.entries(states).filter(([, exporters]) => exporters > 0)),
  };
}

/** @param address of the exporters that are shown, with their interfaces; null: all of them, without. */
export function telemetryToWire(view: TelemetryView | null, address: IpAddress | null): TelemetryWire {
  if (view === null) return { enabled: false, listeners: [], exporters: [] };
  const { now, readAtMs, listeners, exporters } = view;
  const wallMs = (monotonicMs: number) => now.wallMs - (now.monotonicMs - monotonicMs);
  return omitNulls({
    enabled: true,
    read_at: readAtMs === null ? null : timestamp(wallMs(readAtMs)),
    listeners: listeners.map(listenerToWire),
    exporters: exporters
      .filter((exporter) => address === null || exporter.address === address)
      .map((exporter) => exporterToWire(exporter, now, address !== null)),
  });
}

export function listenerToWire(listener: ListenerReading): Static<typeof ListenerWire> {
  const { listen, threads, error, datagrams, bytes, overruns, receiveBuffer, receiveBufferUsed } = listener;
  return omitNulls({
    ...{ listen, threads, error, datagrams, bytes },
    lost_datagrams: overruns,
    receive_buffer_bytes: receiveBuffer,
    receive_buffer_used_bytes: receiveBufferUsed,
    refused_datagrams: listener.refused,
    refused_addresses: [...listener.refusedAddresses],
    no_room_datagrams: listener.withoutRoom,
    clamped_records: listener.clampedRecords,
    unspread_records: listener.unspreadRecords,
  });
}

/** @param now of both clocks: times of an exporter are monotonic. */
export function exporterToWire(
  { name, address, site, state, faults, received }: ExporterView,
  now: TelemetryView["now"],
  hasInterfaces: boolean,
): ExporterWire {
  const wallMs = (monotonicMs: number) => now.wallMs - (now.monotonicMs - monotonicMs);
  return omitNulls({
    ...{ name, address, site, state },
    faults: faults.map(({ kind, begunAtMs, text, remedy }) => ({
      ...{ kind, since: timestamp(wallMs(begunAtMs)), text, remedy },
    })),
    ...(received === null ? {} : receivedToWire(received, now)),
    interfaces: received === null || !hasInterfaces ? null : interfacesToWire(received),
  });
}

function interfacesToWire({ reading, interfaceRates }: ReceivedView): InterfaceWire[] {
  return reading.interfaces.map((one, i) => interfaceToWire(one, interfaceRates?.[i] ?? null));
}

function receivedToWire({ reading, readAtMs, rates, loss }: ReceivedView, now: TelemetryView["now"]) {
  const { listen, protocols, datagrams, bytes, records, leftOut, undecoded, samplings } = reading;
  const ageMs = Math.max(0, now.monotonicMs - readAtMs);
  return omitNulls({
    ...{ listen, protocols: [...protocols] },
    last_seen: timestamp(now.wallMs - ageMs - reading.silentMs),
    age_seconds: Math.round(ageMs / 100) / 10,
    rates: rates && {
      datagrams_per_sec: rates.datagrams,
      records_per_sec: rates.records,
      counted_per_sec: rates.counted,
      ...{ pps: rates.pps, mbps: rates.mbps },
    },
    ...{ loss, datagrams, bytes, records },
    counted_records: reading.counted,
    left_out_records: aboveZero(leftOut),
    ...{ event_records: reading.events, other_records: reading.otherRecords },
    ...{ estimated_records: reading.estimatedRecords, unknown_rate_records: reading.unknownRateRecords },
    ...{ late_records: reading.lateRecords, counted_late_records: reading.countedLate },
    ...{ impossible_rates: reading.impossibleRates, untracked_flows: reading.untrackedFlows },
    not_for_us: aboveZero(reading.notForUs),
    lost_records: reading.lostRecords,
    ...{ lost_datagrams: reading.lostDatagrams, reordered_datagrams: reading.reordered },
    ...{ duplicate_datagrams: reading.duplicates, dropped_samples: reading.droppedSamples },
    ...{ restarts: reading.restarts, templates: reading.templates, templates_refused: reading.templatesRefused },
    ...{ templates_displaced: reading.templatesDisplaced },
    ...{ template_changes: reading.templateChanges, kept_sets: reading.keptSets },
    ...{ recovered_sets: reading.recoveredSets, waiting_bytes: reading.waitingBytes },
    undecoded_by_kind: aboveZero(reading.undecodedByKind),
    undecoded: undecoded.map(({ kind, reason, count: times }) => ({ kind, reason, count: times })),
    clock_skew_ms: reading.clockSkewMs,
    beliefs: [...beliefsOf(reading)],
    sampling: samplings.map(({ domain, sampler, rate: one, origin }) =>
      omitNulls({ domain, sampler, rate: one === 0 ? null : one, origin }),
    ),
  });
}

function aboveZero(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, one]) => one > 0));
}

function interfaceToWire(reading: InterfaceReading, rates: InterfaceRates | null): InterfaceWire {
  return omitNulls({
    ...{ index: reading.index, name: reading.name, role: reading.role },
    records_in: reading.recordsIn,
    records_out: reading.recordsOut,
    pps_in: rates?.ppsIn ?? null,
    mbps_in: rates?.mbpsIn ?? null,
    pps_out: rates?.ppsOut ?? null,
    mbps_out: rates?.mbpsOut ?? null,
  });
}
