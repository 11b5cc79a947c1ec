/** Finds the addresses that the service itself needs, wherever the configuration names them. */

import type { RouteTerms } from "../mitigation/mitigation-config.ts";
import { type IpAddress, parseAddress } from "../net/address.ts";
import { hostPrefix, type Prefix } from "../net/prefix.ts";
import type { ConfigPath } from "../schema/problem.ts";
import { hostOf, isLoopback } from "../schema/text-forms.ts";
import { type OwnAddress, OwnInfrastructure } from "../traffic/own-infrastructure.ts";
import type { Config } from "./config.ts";

type Named = Pick<
  Config,
  | "bgp"
  | "scrubbing"
  | "mitigations"
  | "api"
  | "cluster"
  | "capture"
  | "telemetry"
  | "dataplane"
  | "storage"
  | "notify"
  | "updateCheck"
>;

const UNSPECIFIED = ["0.0.0.0", "::"];
/** Senders in a wider prefix are not own: it may be all of the networks. Bits. */
const SENDERS_BITS_MIN = { 4: 24, 6: 64 } as const;

export function ownInfrastructure(config: Named): OwnInfrastructure {
  const own = new OwnInfrastructure(ownAddresses(config));
  Object.freeze(own);
  return own;
}

/** All addresses of the configuration that the service, its routers and its nodes have, each once. */
export function ownAddresses(config: Named): OwnAddress[] {
  const own = new Map<string, OwnAddress>();
  for (const one of namedAddresses(config)) {
    const { address, text } = one.prefix;
    if (UNSPECIFIED.includes(address) || isLoopback(address) || own.has(text)) continue;
    own.set(text, one);
  }
  return [...own.values()];
}

function* namedAddresses(config: Named): Generator<OwnAddress> {
  const { bgp, scrubbing, mitigations, api, cluster } = config;
  if (bgp !== null) {
    yield one(bgp.routerId, ["bgp", "router_id"]);
    for (const address of bgp.listen?.addresses ?? []) yield one(address, ["bgp", "listen"]);
    for (const [i, { address, sourceAddress }] of bgp.neighbors.entries()) {
      yield one(address, ["bgp", "neighbors", i, "address"]);
      if (sourceAddress !== undefined) yield one(sourceAddress, ["bgp", "neighbors", i, "source_address"]);
    }
    for (const [i, { blackhole, divert }] of bgp.policies.entries()) {
      yield* nextHops(blackhole, ["bgp", "policies", i, "blackhole"]);
      yield* nextHops(divert, ["bgp", "policies", i, "divert"]);
    }
    yield* literal(bgp.grpc, ["bgp", "grpc"]);
  }
  for (const [group, { blackhole, divert, flowspec }] of mitigations.entries()) {
    const path = group === 0 ? [] : ["hostgroups", group - 1];
    const hop = flowspec.routers?.kind === "redirect" ? parseAddress(flowspec.routers.to) : null;
    if (hop !== null) yield one(hop, [...path, "flowspec", "redirect"]);
    yield* nextHops(blackhole, [...path, "bgp"]);
    yield* nextHops(divert, [...path, "scrubbing"]);
  }
  for (const [i, node] of (scrubbing?.nodes ?? []).entries()) yield* nextHops(node, ["scrubbing", "nodes", i]);
  yield one(api.host, ["api", "listen"]);
  yield* literal(api.oidc?.publicUrl ?? null, ["api", "oidc", "public_url"]);
  if (cluster !== null) yield one(cluster.listen.host, ["cluster", "listen"]);
  for (const [i, { address }] of (cluster?.brains ?? []).entries()) {
    yield one(address.host, ["cluster", "brains", i, "address"]);
  }
  yield* senders(config);
  yield* servers(config);
}

/** Senders to the service, and both ends of the tunnels by which packets come and go on. */
function* senders({ capture, telemetry, dataplane }: Named): Generator<OwnAddress> {
  for (const [i, { address, from }] of (capture?.tunnels ?? []).entries()) {
    yield one(address, ["capture", "tunnels", i, "address"]);
    for (const [at, prefix] of from.entries()) yield* narrow(prefix, ["capture", "tunnels", i, "from", at]);
  }
  for (const [i, { address }] of (telemetry?.listen ?? []).entries()) {
    yield one(address, ["telemetry", "listen", i, "address"]);
  }
  for (const [i, { prefix }] of (telemetry?.exporters ?? []).entries()) {
    yield* narrow(prefix, ["telemetry", "exporters", i, "address"]);
  }
  for (const [i, { local, remote }] of (dataplane?.tunnels ?? []).entries()) {
    yield one(local, ["dataplane", "tunnels", i, "local"]);
    yield one(remote, ["dataplane", "tunnels", i, "remote"]);
  }
}

/** Servers that the service sends to, where they are named by their addresses. */
function* servers({ api, storage, notify, updateCheck, cluster }: Named): Generator<OwnAddress> {
  for (const [i, endpoint] of (cluster?.etcd?.endpoints ?? []).entries()) {
    yield* literal(endpoint, ["cluster", "etcd", "endpoints", i]);
  }
  yield* literal(api.oidc?.issuer ?? null, ["api", "oidc", "issuer"]);
  if (storage.driver?.kind === "clickhouse") yield* literal(storage.driver.url, ["storage", "clickhouse", "url"]);
  for (const { place, settings } of notify.targets) {
    if ("host" in settings) yield* literal(settings.host, [...place, "host"]);
    if ("url" in settings) yield* literal(settings.url, [...place, "url"]);
  }
  yield* literal(updateCheck.url, ["update_check", "url"]);
}

/**
 * Servers of the service's own that are configured by name: the database of the history, the etcd, and receivers of
 * notifications that trust the address of this machine. Not those that the whole world uses, like PagerDuty.
 */
export function serverNames({
  storage,
  notify,
  cluster,
}: Pick<Named, "storage" | "notify" | "cluster">): readonly string[] {
  const texts = [...(cluster?.etcd?.endpoints ?? [])];
  if (storage.driver?.kind === "clickhouse") texts.push(storage.driver.url);
  for (const { settings } of notify.targets) {
    if (settings.kind === "alertmanager") texts.push(settings.url);
    if (settings.kind === "email" || settings.kind === "syslog") texts.push(`any://${settings.host}`);
  }
  const names = texts.map((text) => hostOf(text) ?? "").filter((name) => name !== "" && parseAddress(name) === null);
  return [...new Set(names)];
}

function one(address: IpAddress, path: ConfigPath): OwnAddress {
  return { prefix: hostPrefix(address), path };
}

function* narrow(prefix: Prefix, path: ConfigPath): Generator<OwnAddress> {
  if (prefix.length >= SENDERS_BITS_MIN[prefix.family]) yield { prefix, path };
}

/** Nothing for a name, which may lead elsewhere tomorrow, and for the path of a socket. */
function* literal(text: string | null, path: ConfigPath): Generator<OwnAddress> {
  const address = text === null ? null : (parseAddress(text) ?? parseAddress(hostOf(text) ?? ""));
  if (address !== null) yield one(address, path);
}

function* nextHops(terms: Pick<RouteTerms, "nextHop" | "nextHop6"> | null, path: ConfigPath): Generator<OwnAddress> {
  if (terms === null) return;
  if (terms.nextHop !== null) yield one(terms.nextHop, [...path, "next_hop"]);
  if (terms.nextHop6 !== null) yield one(terms.nextHop6, [...path, "next_hop6"]);
}
