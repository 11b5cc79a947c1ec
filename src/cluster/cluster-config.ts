/** The section `cluster`: this brain, the other brains, and how they reach each other. */
import type { IpAddress } from "../net/address.ts";
import type { EtcdConfig } from "./etcd-config.ts";

export interface SocketAddress {
  readonly host: IpAddress;
  readonly port: number;
}

export interface OtherBrain {
  readonly name: string;
  readonly address: SocketAddress;
}

export interface ClusterConfig {
  /** The name of this brain; its certificate has it. */
  readonly name: string;
  readonly listen: SocketAddress;
  /** Paths of PEM files. */
  readonly certificate: string;
  readonly key: string;
  /** The certificates that signed those of all brains. */
  readonly authority: string;
  readonly brains: readonly OtherBrain[];
  /** null: the brains have only each other. */
  readonly etcd: EtcdConfig | null;
}
