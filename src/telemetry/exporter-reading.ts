/** A reading of one exporter by the packet counter. All counters begin with the process, or with the exporter. */
import type { IpAddress } from "../net/address.ts";

export interface ExporterReading {
  /** Where its datagrams arrive, as `[::]:2055`: an exporter that sends to two ports is read twice. */
  readonly listen: string;
  readonly address: IpAddress;
  /** By which samples name it, from 1 on. */
  readonly number: number;
  /** The name of its entry in the configuration; null: there is none. */
  readonly name: string | null;
  readonly protocols: readonly string[];
  readonly datagrams: number;
  readonly bytes: number;
  /** Those that counted, and by reason those that were left out. */
  readonly records: number;
  readonly counted: number;
  readonly leftOut: Readonly<Record<string, number>>;
  /** False while another exporter of its site counts. */
  readonly isActive: boolean;
  /** Records that count no packet, as of firewalls' events; and of options and interface counters. */
  readonly events: number;
  readonly otherRecords: number;
  /** Records of which packets or bytes are estimated, since the exporter reports only the other. */
  readonly estimatedRecords: number;
  /** Records whose sampling rate the exporter does not say. */
  readonly unknownRateRecords: number;
  readonly lateRecords: number;
  /** Late records that counted when they came, since all of the exporter are late. */
  readonly countedLate: number;
  /** Sampling rates that no exporter can have, and were not taken. */
  readonly impossibleRates: number;
  /** Flows of an exporter of totals that found no place in the table of flows. */
  readonly untrackedFlows: number;
  /** How it reports traffic, of FLOW_TRAITS; and the private enterprise numbers (IANA) of its elements and samples. */
  readonly traits: readonly string[];
  readonly vendors: readonly number[];
  /** The longest time between two records of a flow whose start time stays, ms; 0: it reports flows as others do. */
  readonly reportIntervalMs: number;
  /** Understood, and no traffic of IP, by kind. */
  readonly notForUs: Readonly<Record<string, number>>;
  /** Records that were sent and never came, by its sequence numbers. */
  readonly lostRecords: number;
  readonly lostDatagrams: number;
  readonly reordered: number;
  readonly duplicates: number;
  readonly restarts: number;
  /** Packets that an sFlow agent could not sample, as it says itself. */
  readonly droppedSamples: number;
  readonly templates: number;
  /** Templates that found no room, and those that gave theirs to others before they were idle. */
  readonly templatesRefused: number;
  readonly templatesDisplaced: number;
  readonly templateChanges: number;
  /** Sets that were kept until their template came, those that it came for, and bytes that wait now. */
  readonly keptSets: number;
  readonly recoveredSets: number;
  readonly waitingBytes: number;
  /** Parts that were not understood; and the first reasons, which name version, set or field. */
  readonly undecodedByKind: Readonly<Record<string, number>>;
  readonly undecoded: readonly Undecoded[];
  /** Its clock minus ours; null: it has not said its time. */
  readonly clockSkewMs: number | null;
  /** Since its last datagram. */
  readonly silentMs: number;
  readonly samplings: readonly Sampling[];
  /** Those that were seen first. */
  readonly interfaces: readonly InterfaceReading[];
}

interface Undecoded {
  readonly kind: string;
  readonly reason: string;
  readonly count: number;
}

export interface Sampling {
  /** Observation domain, and sampler within it. */
  readonly domain: number;
  readonly sampler: number;
  /** One packet in this number; 0: not known, and counted as 1. */
  readonly rate: number;
  /** Where that is known from; `unknown`: nothing says it. */
  readonly origin: string;
}

export interface InterfaceReading extends InterfaceCounts {
  /** ifIndex; 0: the exporter did not say. */
  readonly index: number;
  readonly name: string | null;
  readonly role: string;
}

/** Counts of all its records, counted or not. Packets and bytes are multiplied by the sampling rate. */
export interface InterfaceCounts {
  readonly recordsIn: number;
  readonly packetsIn: number;
  readonly bytesIn: number;
  readonly recordsOut: number;
  readonly packetsOut: number;
  readonly bytesOut: number;
}

/** One name for an exporter at one port. */
export function exporterKey({ listen, address }: Pick<ExporterReading, "listen" | "address">): string {
  return `${listen} ${address}`;
}
