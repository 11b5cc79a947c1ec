/** The section `dataplane`: where XDP drops packets, how much it may hold, and how passed packets go on. */
import type { TUNNEL_KINDS } from "../native/constants.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";

export const DEFAULT_PIN_PATH = "/sys/fs/bpf/floodwall";

export interface DataplaneConfig {
  readonly enabled: boolean;
  /** Names; none twice. */
  readonly interfaces: readonly string[];
  readonly xdpMode: "auto" | "native" | "generic";
  /** Directory in the BPF file system in which maps and links outlive the process. */
  readonly pinPath: string;
  /** The fate of blocks and rules in force when the service stops. */
  readonly onExit: "keep" | "detach";
  /** The part of the machine that forwards passed packets. */
  readonly forward: Forward;
  /** Only with `redirect`. */
  readonly tunnels: readonly Tunnel[];
  /** Sources whose packets are never dropped here. */
  readonly allowlist: readonly Prefix[];
  /** Pairs of source blocks and rules of bans, together. */
  readonly maxDynamicRules: number;
  /** Sources that the kernel knows. */
  readonly maxSources: number;
}

export type Forward = "kernel" | "redirect";

export interface Tunnel {
  readonly kind: (typeof TUNNEL_KINDS)[number];
  /** Destinations whose packets go into it. */
  readonly networks: readonly Prefix[];
  /** Both of one family. */
  readonly local: IpAddress;
  readonly remote: IpAddress;
  /** The key of GRE, null for none; the VNI of VXLAN. */
  readonly key: number | null;
  /** For VXLAN. */
  readonly port: number;
  /** The far end's MAC address of VXLAN, as `02:00:5e:10:00:01`; null: of another kind. */
  readonly mac: string | null;
  /** MTU of the packet within, bytes. */
  readonly mtu: number;
  /** The largest MSS that its segments may have, by family. */
  readonly mss: { readonly 4: number; readonly 6: number };
}
