/** The section `capture`: where packets come from. */
import type { CapturedInterface } from "../machine/needs.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Encapsulation } from "../traffic/encapsulation.ts";

export interface CaptureConfig {
  /** Empty, and no file: all traffic is known by telemetry. */
  readonly interfaces: readonly CaptureInterface[];
  readonly tunnels: readonly CaptureTunnel[];
  readonly pcapFile: string | null;
  readonly pace: "real" | "max";
  /** Encapsulations in the capture file. */
  readonly decapsulate: readonly Encapsulation[];
  /** UDP ports that VXLAN goes to, for all packets. */
  readonly vxlanPorts: readonly number[];
  readonly maxHosts: number;
  /** Rate of all links together; null: not known. */
  readonly linkMbps: number | null;
  /** Whether outgoing traffic is counted as well: only if `thresholds_outgoing` is set, since it takes memory. */
  readonly countOutgoing: boolean;
}

export interface CaptureInterface extends CapturedInterface {
  /** The CPU for each queue's worker in turn; empty: not pinned. */
  readonly cpus: readonly number[];
  /** One frame in this number is mirrored. */
  readonly samplingRate: number;
  /** All its frames come from other networks; or those of these senders do. */
  readonly isExternal: boolean;
  readonly externalMacs: readonly string[];
}

/** Mirrored frames that come in tunnels to an address of ours. */
export interface CaptureTunnel {
  readonly address: IpAddress;
  readonly from: readonly Prefix[];
  readonly decapsulate: readonly Encapsulation[];
  readonly samplingRate: number;
  readonly receiveBufferBytes: number;
  readonly cpus: readonly number[];
}
