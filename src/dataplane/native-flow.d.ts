/** The addon's side of flow telemetry; the conventions are those of native.d.ts. */

import type {
  FLOW_DIRECTIONS,
  FLOW_LEFT_OUT,
  FLOW_NOT_FOR_US,
  FLOW_PROTOCOLS,
  FLOW_TRAITS,
  FLOW_UNDECODED,
  INTERFACE_ROLES,
  SAMPLING_ORIGINS,
} from "../native/constants.ts";
import type { ExporterReading, InterfaceReading, Sampling } from "../telemetry/exporter-reading.ts";
import type { ListenerReading } from "../telemetry/listener-reading.ts";
import type { Source } from "./native-source.d.ts";

/** A UDP port that takes sFlow v5, NetFlow v5 and v9 and IPFIX. Each thread is a queue in the source's status. */
export interface FlowSourceOptions {
  /** 16 bytes. `::` takes both families, `::ffff:0.0.0.0` IPv4 alone. */
  readonly address: Uint8Array;
  readonly port: number;
  /** 1 to FLOW_THREADS_MAX. All datagrams of one exporter go to one of them. */
  readonly threads: number;
  /** Bytes of the kernel's buffer for each thread. FlowReceiverStatus has the granted size. */
  readonly receiveBuffer: number;
  /** The CPU for each thread in turn; empty: not pinned. */
  readonly cpus: readonly number[];
  readonly exporters: readonly ExporterRule[];
  /** Bytes of saved() of an earlier process; null: none. If they are damaged, the part before the damage is taken. */
  readonly saved: Uint8Array | null;
}

/** Which exporters are accepted, and how what they say counts. The rule with the longest prefix holds. */
export interface ExporterRule {
  /** 16 bytes and the length of the 128-bit form; 128 for one address. If two rules have one prefix, the later holds. */
  readonly address: Uint8Array;
  readonly length: number;
  readonly name: string;
  /** Holds instead of what the exporter says; null: as it says. */
  readonly samplingRate: number | null;
  /** Records of more bytes than an interface of this speed carries do not count; null: as the fastest that there is. */
  readonly fastestInterfaceMbps: number | null;
  /** Records that say that they are of the other direction are left out. */
  readonly direction: (typeof FLOW_DIRECTIONS)[number];
  /**
   * Interface numbers ("7"), ranges ("1-10") or patterns of names ("xe-*", where * is any text), at most
   * INTERFACE_PATTERNS_MAX. Where one of the two lists is given, a record counts for the host that it goes to only if
   * it came in by an external interface, and for the host that it comes from only if it went out by one. `external` has
   * precedence; without it every interface is external that is not internal.
   */
  readonly external: readonly string[] | null;
  readonly internal: readonly string[] | null;
  /** Only the first rule of a site counts whose exporters are not silent; the others are only watched. */
  readonly site: string | null;
  /** Without a datagram for this long an exporter is silent, and the next one of its site counts. */
  readonly silentAfterMs: number;
  /** Encapsulations that sampled headers are taken out of, of ENCAPSULATIONS. */
  readonly decapsulate: readonly string[];
}

/** A ListenerReading, as the addon has it. */
export interface FlowReceiverStatus extends Omit<ListenerReading, "listen" | "threads" | "error" | "refusedAddresses"> {
  /** 16 bytes each. */
  readonly refusedAddresses: readonly Uint8Array[];
}

/** An ExporterReading, as the addon has it. */
export interface ExporterStatus
  extends Omit<ExporterReading, "listen" | "address" | "name" | "undecoded" | "waitingBytes"> {
  /** 16 bytes. */
  readonly address: Uint8Array;
  /** Number of its rule in those that were set last; null without rules. */
  readonly rule: number | null;
  readonly protocols: readonly (typeof FLOW_PROTOCOLS)[number][];
  /** records = counted + the sum of leftOut. */
  readonly leftOut: Readonly<Record<(typeof FLOW_LEFT_OUT)[number], number>>;
  readonly traits: readonly (typeof FLOW_TRAITS)[number][];
  readonly notForUs: Readonly<Record<(typeof FLOW_NOT_FOR_US)[number], number>>;
  /** Sets of data that came before their template and were given up, and bytes that wait now. */
  readonly withoutTemplate: number;
  readonly waitingForTemplate: number;
  /** The templates that were missed, by the first reasons. */
  readonly missingTemplates: readonly Undecoded[];
  /** The other records that were not understood, by the first reasons. */
  readonly undecoded: readonly Undecoded[];
  /** All of both. */
  readonly undecodedByKind: Readonly<Record<(typeof FLOW_UNDECODED)[number], number>>;
  /** Observation domains, engines and agents. */
  readonly domains: number;
  readonly memoryBytes: number;
  readonly samplings: readonly (Sampling & { readonly origin: (typeof SAMPLING_ORIGINS)[number] })[];
  /** The interfaces that were seen first, at most EXPORTER_INTERFACES_MAX. */
  readonly interfaces: readonly (InterfaceReading & { readonly role: (typeof INTERFACE_ROLES)[number] })[];
  /** A fault that an operator should mend, such as an unknown sampling rate; null: none. */
  readonly error: string | null;
}

/** `reason` names the version, set or field. */
export interface Undecoded {
  readonly kind: (typeof FLOW_UNDECODED)[number];
  readonly reason: string;
  readonly count: number;
}

export interface FlowSource extends Source {
  /** Exporters that still have a rule keep their templates. Throws RangeError over EXPORTER_RULES_MAX. */
  setExporters(rules: readonly ExporterRule[]): void;
  /** As of 100 ms ago; a second where a thread has a thousand exporters. `interfaces` are empty unless requested. */
  exporters(options: { readonly withInterfaces: boolean }): ExporterStatus[];
  receiver(): FlowReceiverStatus;
  /**
   * Templates and options of exporters that have been of use, as of a second ago, and their numbers: at most 32 MiB.
   * Exporters that were silent for an hour are not in it.
   */
  saved(): Uint8Array;
}
