/** The section `telemetry`: where flow records are received, from whom, and which of them count. */
import type { FLOW_DIRECTIONS } from "../native/constants.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Encapsulation } from "../traffic/encapsulation.ts";

export type ExporterDirection = (typeof FLOW_DIRECTIONS)[number];

export interface TelemetryConfig {
  readonly listen: readonly FlowListen[];
  readonly exporters: readonly ExporterConfig[];
}

export interface FlowListen {
  readonly address: IpAddress;
  readonly port: number;
  readonly threads: number;
  /** Buffer of each thread's socket. */
  readonly receiveBufferBytes: number;
  /** The CPU for each thread in turn; empty: not pinned. */
  readonly cpus: readonly number[];
}

export interface ExporterConfig {
  readonly name: string;
  readonly prefix: Prefix;
  /** One packet in this number; null: what the exporter says. */
  readonly samplingRate: number | null;
  /** null: not given. */
  readonly fastestInterfaceMbps: number | null;
  readonly direction: ExporterDirection;
  /** Numbers, ranges and names with `*`; null: not given. */
  readonly external: readonly string[] | null;
  readonly internal: readonly string[] | null;
  /** null: it shares its packets with no other. */
  readonly site: string | null;
  readonly decapsulate: readonly Encapsulation[];
  readonly silentAfterSeconds: number;
}
