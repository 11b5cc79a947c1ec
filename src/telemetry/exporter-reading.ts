/** What the packet counter says of one exporter at one moment. All counters begin with the process, or with the exporter. */
import type { IpAddress } from "../net/address.ts";

export interface ExporterReading {
  /** Where its datagrams arrive, as `[::]:2055`: an exporter that sends to two ports is read twice. */
  readonly listen: string;
  readonly address: IpAddress;
  /** Of its entry in the configuration; null: there is none. */
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
  /** By reason, which names version, set or field. */
  readonly undecoded: readonly Undecoded[];
  /** Data sets whose template is not known yet, and those that were given up for lack of it. */
  readonly waitingForTemplate: number;
  readonly withoutTemplate: number;
  readonly templates: number;
  readonly templatesRefused: number;
  readonly lostRecords: number;
  readonly lostDatagrams: number;
  readonly reordered: number;
  readonly restarts: number;
  /** Its clock minus ours; null: it has not said its time. */
  readonly clockSkewMs: number | null;
  /** Since its last datagram. */
  readonly silentMs: number;
  readonly samplings: readonly Sampling[];
  /** Those that were seen first. */
  readonly interfaces: readonly InterfaceReading[];
}

export interface Undecoded {
  readonly reason: string;
  readonly count: number;
}

export interface Sampling {
  /** Observation domain, and sampler within it. */
  readonly domain: number;
  readonly sampler: number;
  /** One packet in so many; 0: not known, and counted as 1. */
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

/** Of all its records, counted or not. Packets and bytes are multiplied by the sampling rate. */
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
