/** The configurations of the lab: of a brain, and of a scrub node. */
import type { ClusterConfig } from "../../../src/cluster/cluster-config.ts";
import type { EtcdCertificates } from "../../fixtures/etcd/etcd-certificates.ts";
import type { BrainPlace } from "./cluster-network.ts";

export const ASN = 64500;
export const BGP_PORT = 1790;
export const FLOW_PORT = 2055;
export const THRESHOLD_PPS = 500;
/** How long an attack must be calm before its ban ends. */
export const CALM_SECONDS = 5;
/** How long a brain or an agent that is away keeps a ban: longer than any fault of the lab. */
const TTL_SECONDS = 60;
/** A version before clusters takes none by an order: longer than an upgrade. */
const ALONE_TTL_SECONDS = 600;
/** By node, the next hop of its routes. */
export const NODE_HOPS = { scrub1: "192.0.2.101", scrub2: "192.0.2.102" } as const;
export type NodeName = keyof typeof NODE_HOPS;
export const NODES = Object.keys(NODE_HOPS) as NodeName[];
/** The secret of each token is the name of its variable. */
export const SECRETS = { OPERATOR: "OPERATOR", SCRUB1: "SCRUB1", SCRUB2: "SCRUB2" } as const;

/** By what brings each to a brain. */
export const VICTIMS = {
  /** By a mirror of both. */
  mirrored: "203.0.113.7",
  /** By flow records of the router of both. */
  exported: "203.0.113.37",
  /** By flow records of the first's own router, and of the second's. */
  first: "203.0.113.17",
  second: "203.0.113.27",
  /** By a mirror of both; to a scrub node. */
  diverted: "203.0.113.71",
} as const;

export const API = `tokens: [{ name: noc, token_env: OPERATOR, role: operator }, ${NODES.map(
  (node) => `{ name: ${node}, token_env: ${node.toUpperCase()}, role: agent, node: ${node} }`,
).join(", ")}]`;

export interface BrainSections {
  readonly own: BrainPlace;
  readonly other: BrainPlace;
  readonly files: Pick<ClusterConfig, "certificate" | "key" | "authority">;
  readonly etcd: { readonly endpoints: readonly URL[]; readonly tls: EtcdCertificates };
  /** A service that knows no cluster: for an upgrade. */
  readonly isAlone: boolean;
}

export function brainConfig({ own, other, files, etcd, isAlone }: BrainSections): string {
  const nodes = NODES.map((name) => `{ name: ${name}, next_hop: ${NODE_HOPS[name]} }`).join(", ");
  const { authority, client } = etcd.tls;
  const endpoints = etcd.endpoints.map(({ origin }) => `"${origin}"`).join(", ");
  const cluster = `cluster:
  name: ${own.name}
  listen: "${own.address}:8443"
  certificate: ${files.certificate}
  key: ${files.key}
  authority: ${files.authority}
  brains: [{ name: ${other.name}, address: "${other.address}:8443" }]
  etcd: { endpoints: [${endpoints}], authority: ${authority}, certificate: ${client.cert}, key: ${client.key} }
`;
  return `
dry_run: false
networks: [203.0.113.0/24]
capture: { interfaces: [{ name: mirror0, mode: mirror }] }
telemetry:
  listen: [{ address: "0.0.0.0", port: ${FLOW_PORT} }]
  exporters: [{ address: ${own.coreFar}, name: router }, { address: ${own.edge}, name: edge }]
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000, flows_per_sec: 500000 }
ban: { ttl_seconds: ${isAlone ? ALONE_TTL_SECONDS : TTL_SECONDS}, unban_hysteresis_seconds: ${CALM_SECONDS}, repeat_window_seconds: 0 }
hostgroups: [{ name: scrubbed, networks: [203.0.113.64/27], mitigation: divert }]
scrubbing: { communities: ["${ASN}:2"], nodes: [${nodes}] }
notify: { webhook: { url_env: WEBHOOK } }
bgp:
  local_asn: ${ASN}
  router_id: ${own.address}
  listen: "0.0.0.0:${BGP_PORT}"
  next_hop: 192.0.2.1
  neighbors:
    - { address: ${own.router}, remote_asn: ${ASN}, port: ${BGP_PORT} }
    - { address: ${own.edge}, remote_asn: ${ASN}, port: ${BGP_PORT} }
${isAlone ? "" : cluster}`;
}

export interface NodeSections {
  readonly name: NodeName;
  /** APIs of the brains. */
  readonly brains: readonly string[];
  readonly pins: string;
  readonly directory: string;
}

export function nodeConfig({ name, brains: [first, ...others], pins, directory }: NodeSections): string {
  return `
dry_run: false
node: ${name}
controller:
  url: "${first}"
  others: [${others.map((url) => `"${url}"`).join(", ")}]
  token_env: ${name.toUpperCase()}
  plain_http: true
dataplane: { interfaces: [dirty0], pin_path: ${pins} }
report_interval_seconds: 1
state_dir: ${directory}
`;
}
