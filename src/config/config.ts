/** The validated configuration: frozen, replaced as a whole by a reload. What the keys mean: docs/configuration.md. */
import type { OperatorRule } from "../mitigation/operator/operator-rule.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { PrefixTable } from "../net/prefix-table.ts";
import type { NetworkLookup } from "../traffic/network-lookup.ts";
import type { Thresholds } from "../traffic/rates.ts";
import type { ApiConfig } from "./sections/api.ts";
import type { BaselineConfig } from "./sections/baseline.ts";
import type { Encapsulation } from "./sections/capture-tunnels.ts";
import type { CarpetConfig } from "./sections/carpet.ts";
import type { DataplaneConfig } from "./sections/dataplane.ts";
import type { EdgeConfig } from "./sections/edge.ts";
import type { GroupMitigation } from "./sections/mitigation.ts";
import type { ScrubbingConfig } from "./sections/nodes.ts";
import type { NotifyConfig, UpdateCheckConfig } from "./sections/notify.ts";
import type { PrefixSetConfig } from "./sections/prefix-sets.ts";
import type { SamplesConfig } from "./sections/samples.ts";
import type { ScrubProfile } from "./sections/scrub.ts";
import type { StorageConfig } from "./sections/storage.ts";
import type { TelemetryConfig } from "./sections/telemetry.ts";

export interface Config {
  readonly dryRun: boolean;
  readonly networks: readonly Prefix[];
  readonly protectedWhitelist: readonly Prefix[];
  /** null: control plane only. With `telemetry` it is there in any case. */
  readonly capture: CaptureConfig | null;
  /** null: no flow records are received. */
  readonly telemetry: TelemetryConfig | null;
  readonly detection: DetectionConfig;
  /** Index 0 is the implicit group `global` with the top-level thresholds and no networks of its own. */
  readonly hostgroups: readonly Hostgroup[];
  /** null: off. */
  readonly carpet: CarpetConfig | null;
  /** The mitigation of each hostgroup, in the same order. */
  readonly mitigations: readonly GroupMitigation[];
  /** All that may be chosen, built-in ones first. */
  readonly scrubProfiles: readonly ScrubProfile[];
  /** Derived from `networks` and `hostgroups`. */
  readonly lookup: NetworkLookup;
  /** Derived from `protectedWhitelist`: row i is its entry i. */
  readonly whitelist: PrefixTable;
  readonly ban: BanBounds;
  readonly stateDir: string;
  /** null: no announcer. */
  readonly bgp: BgpConfig | null;
  /** null: nothing is dropped on this machine. */
  readonly dataplane: DataplaneConfig | null;
  /** In the order in which they are tried. */
  readonly filterRules: readonly OperatorRule[];
  readonly prefixSets: readonly PrefixSetConfig[];
  readonly samples: SamplesConfig;
  readonly storage: StorageConfig;
  /** null: no scrub nodes. */
  readonly scrubbing: ScrubbingConfig | null;
  /** null: no edge nodes. */
  readonly edge: EdgeConfig | null;
  readonly notify: NotifyConfig;
  readonly updateCheck: UpdateCheckConfig;
  readonly api: ApiConfig;
}

export interface CaptureConfig {
  /** Empty, and no file: all traffic is known by telemetry. */
  readonly interfaces: readonly CaptureInterface[];
  readonly tunnels: readonly CaptureTunnel[];
  readonly pcapFile: string | null;
  readonly pace: "real" | "max";
  /** Of the capture file. */
  readonly decapsulate: readonly Encapsulation[];
  /** Of all packets: UDP ports that VXLAN goes to. */
  readonly vxlanPorts: readonly number[];
  readonly maxHosts: number;
  /** Of all links together; null: not known. */
  readonly linkMbps: number | null;
  /** Whether outgoing traffic is counted as well: only if `thresholds_outgoing` is set, since it takes memory. */
  readonly countOutgoing: boolean;
}

export interface CaptureInterface {
  readonly name: string;
  readonly mode: "mirror" | "inline";
  readonly backend: "af_xdp" | "pcap";
  readonly xdpMode: "auto" | "native" | "generic";
  /** null: all of them. */
  readonly queues: readonly number[] | null;
  readonly zeroCopy: "auto" | "on" | "off";
  /** The CPU for each queue's worker in turn; empty: not pinned. */
  readonly cpus: readonly number[];
  /** What packets are taken out of. */
  readonly decapsulate: readonly Encapsulation[];
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

export interface DetectionConfig {
  readonly windowMs: number;
  readonly tickMs: number;
  readonly sustainMs: number;
  /** With which an estimated rate must be above a threshold to start an attack: above 0.5, below 1. */
  readonly confidence: number;
}

export interface Hostgroup {
  readonly name: string;
  readonly networks: readonly Prefix[];
  /** `total`: the sums of its hosts are judged instead of the hosts. */
  readonly calculation: "per_host" | "total";
  readonly thresholds: Thresholds;
  /** null: outgoing traffic is not judged. */
  readonly thresholdsOutgoing: Thresholds | null;
  /** null: off, its thresholds are static. */
  readonly baseline: BaselineConfig | null;
  /** Owner of the group's addresses; null: none. */
  readonly tenant: string | null;
}

/** Limits of the whole table of bans. */
export interface BanBounds {
  readonly maxActiveBans: number;
  /** Share of the addresses of all networks of a family, 0 to 1; 0: no limit. */
  readonly maxBannedFraction: number;
}

export interface BgpConfig {
  readonly speaker: "managed" | "external";
  /** Socket path or host:port of the external speaker; null when managed. */
  readonly grpc: string | null;
  /** Of this service among those that use the speaker; null: one that is kept in the state directory. */
  readonly instance: number | null;
  readonly localAsn: number;
  readonly routerId: IpAddress;
  /** Where the managed speaker accepts connections; null: it only connects to its neighbors. */
  readonly listen: ListenAddresses | null;
  readonly nextHop: IpAddress;
  readonly nextHop6: IpAddress;
  /** As `65535:666`. */
  readonly communities: readonly string[];
  /** 0: not set. */
  readonly localPref: number;
  readonly neighbors: readonly BgpNeighbor[];
}

/** GoBGP has one port for all of its addresses. */
export interface ListenAddresses {
  readonly addresses: readonly IpAddress[];
  readonly port: number;
}

export interface BgpNeighbor {
  readonly address: IpAddress;
  readonly remoteAsn: number;
  readonly port: number;
  /** Name of the environment variable with the TCP MD5 password. */
  readonly passwordEnv: string | null;
  /** 0: directly connected. */
  readonly multihopTtl: number;
}
