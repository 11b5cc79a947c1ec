/** The sources of packets that an engine opens; the conventions are those of native.d.ts. */
import type { ENCAPSULATIONS, PACES, SOURCE_STATES, XDP_MODES, ZERO_COPIES } from "../native/constants.ts";

export type Encapsulation = (typeof ENCAPSULATIONS)[number];
type XdpMode = (typeof XDP_MODES)[number];

export type SourceOptions = Decapsulation & ExternalSenders & KindOptions;

type KindOptions =
  | {
      readonly kind: "af_xdp";
      readonly interface: string;
      /** null: all RX queues of the interface. */
      readonly queues: readonly number[] | null;
      readonly xdpMode: XdpMode;
      readonly zeroCopy: (typeof ZERO_COPIES)[number];
      /** The CPU for each queue's worker in turn; empty: not pinned. */
      readonly cpus: readonly number[];
      readonly samplingRate?: SamplingRate;
    }
  | {
      readonly kind: "xdp_inline";
      readonly interface: string;
      readonly xdpMode: XdpMode;
      /** One header in `sampleEvery` is copied out for samples. */
      readonly sampleEvery: number;
      readonly cpus: readonly number[];
    }
  | {
      readonly kind: "pcap_live";
      readonly interface: string;
      readonly cpus: readonly number[];
      readonly samplingRate?: SamplingRate;
    }
  | {
      readonly kind: "pcap_file";
      readonly path: string;
      readonly pace: (typeof PACES)[number];
      readonly samplingRate?: SamplingRate;
    }
  | {
      /** Mirrored frames in GRE or ERSPAN to an address of this machine: one of these is in `decapsulate`. */
      readonly kind: "mirror_tunnel";
      /** As the status calls it. */
      readonly name: string;
      readonly address: Uint8Array;
      /** Prefixes that frames may come from: 16 bytes each, and as many lengths. */
      readonly fromAddresses: Uint8Array;
      readonly fromLengths: readonly number[];
      /** Bytes. */
      readonly receiveBuffer: number;
      readonly cpus: readonly number[];
      readonly samplingRate?: SamplingRate;
    };

/**
 * For a sampled source: one frame in this number arrives, and each counts as this number. 1 to SAMPLING_RATE_MAX;
 * absent: 1. QueueStats count the frames that arrive.
 */
export type SamplingRate = number;

/**
 * Encapsulations that packets are taken out of, and the UDP ports that VXLAN goes to: VXLAN_PORTS_MAX at most; absent:
 * VXLAN_PORT alone.
 */
export interface Decapsulation {
  readonly decapsulate?: readonly Encapsulation[];
  readonly vxlanPorts?: readonly number[];
}

/**
 * Senders whose frames come from other networks, so that none of them is outgoing traffic of the protected host that it
 * names as its source: of all, or of these MAC addresses, 6 bytes each and EXTERNAL_SENDERS_MAX at most.
 */
export interface ExternalSenders {
  readonly isExternal?: boolean;
  readonly externalMacs?: Uint8Array;
}

export interface QueueStats {
  readonly interface: string;
  /** -1 for a source without queues. */
  readonly queue: number;
  readonly receivedPackets: number;
  readonly receivedBytes: number;
  /** Counted for a host, or for a network because the host table was full (untracked). */
  readonly countedPackets: number;
  readonly untrackedPackets: number;
  /** Packets with neither address in the networks. */
  readonly foreignPackets: number;
  /** Frames that are not counted, by reason; the keys are PARSE_ERRORS. */
  readonly parseErrors: Readonly<Record<string, number>>;
  /** Packets that carry others which were not looked at, by what they are; the keys are ENCAPSULATIONS. */
  readonly encapsulated: Readonly<Record<string, number>>;
  /** The frames of `not_ip` by kind; the keys are NOT_IP_KINDS. Not known for an inline source. */
  readonly notIp: Readonly<Record<string, number>>;
  /**
   * The same by Ethernet type: `0x0806`; of LLC frames by their destination service access point: `llc_0x42`. Those of
   * which most came; `other` are all others, and frames whose type cannot be read.
   */
  readonly etherTypes: Readonly<Record<string, number>>;
  readonly droppedRingFull: number;
  /** No free buffer: the worker is too slow. With zero copy: the driver's failed attempts, not frames. */
  readonly droppedFillEmpty: number;
  /** Other drops that the kernel reports, and frames that the XDP program could not pass to a socket. */
  readonly droppedKernel: number;
  /** Sampled headers that did not fit; their packets were counted. */
  readonly lostSamples: number;
  /** Packets of senders that a mirror tunnel's configuration does not have. */
  readonly refused: number;
}

export interface SourceStatus {
  /**
   * `ended`: a capture file was read to its end. `failed`: `error` names the cause and the remedy; an interface is
   * retried about once a second, a damaged capture file is not.
   */
  readonly state: (typeof SOURCE_STATES)[number];
  /** The mode in use, for example "native, copy mode, 4 queues, real-time priority". */
  readonly mode: string;
  readonly error: string | null;
  readonly queues: readonly QueueStats[];
}

export interface Source {
  status(): SourceStatus;
  close(): void;
}
