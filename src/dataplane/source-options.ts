/** What a packet source is opened with: see native.d.ts. */
import type { ENCAPSULATIONS, PACES, XDP_MODES, ZERO_COPIES } from "./native-constants.ts";

export type Encapsulation = (typeof ENCAPSULATIONS)[number];
type XdpMode = (typeof XDP_MODES)[number];

/** `decapsulate`: what packets are taken out of; absent: nothing. */
export type SourceOptions =
  | {
      readonly kind: "af_xdp";
      readonly interface: string;
      /** null: all RX queues of the interface. */
      readonly queues: readonly number[] | null;
      readonly xdpMode: XdpMode;
      readonly zeroCopy: (typeof ZERO_COPIES)[number];
      /** The CPU for each queue's worker in turn; empty: not pinned. */
      readonly cpus: readonly number[];
      readonly decapsulate?: readonly Encapsulation[];
    }
  | {
      readonly kind: "xdp_inline";
      readonly interface: string;
      readonly xdpMode: XdpMode;
      /** One header in `sampleEvery` is copied out for samples. */
      readonly sampleEvery: number;
      readonly cpus: readonly number[];
      readonly decapsulate?: readonly Encapsulation[];
    }
  | {
      readonly kind: "pcap_live";
      readonly interface: string;
      readonly cpus: readonly number[];
      readonly decapsulate?: readonly Encapsulation[];
    }
  | {
      readonly kind: "pcap_file";
      readonly path: string;
      readonly pace: (typeof PACES)[number];
      readonly decapsulate?: readonly Encapsulation[];
    }
  | {
      /** Mirrored frames in GRE or ERSPAN to an address of this machine. */
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
      /** `gre` or `erspan` among it. */
      readonly decapsulate?: readonly Encapsulation[];
    };
