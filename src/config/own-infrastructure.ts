/**
 * The addresses that the service itself needs, wherever the configuration names them: banned or filtered, they would cut
 * the service off its routers and nodes. Derived from the configuration in force, beside `protected_whitelist`.
 */
import { type IpAddress, parseAddress } from "../net/address.ts";
import { addressBits, hostPrefix, type Prefix, prefixContains } from "../net/prefix.ts";
import { PrefixTable } from "../net/prefix-table.ts";
import { type ConfigPath, pathText } from "../schema/problem.ts";
import { hostOf, isLoopback } from "../schema/text-forms.ts";
import type { Config } from "./config.ts";
import type { RouteTerms } from "./sections/mitigation.ts";

type Named = Pick<
  Config,
  | "bgp"
  | "scrubbing"
  | "mitigations"
  | "api"
  | "capture"
  | "telemetry"
  | "dataplane"
  | "storage"
  | "notify"
  | "updateCheck"
>;

export interface OwnAddress {
  /** One address, or all from which exporters and mirrors send to the service. */
  readonly prefix: Prefix;
  /** The first key that names it. */
  readonly path: ConfigPath;
}

/** Why an address, or a prefix that contains it, is not banned: names the address and its key. */
export type OwnRefusal = `own infrastructure: ${string}`;

const UNSPECIFIED = ["0.0.0.0", "::"];
/** Senders in a wider prefix are not own: it may be all of the networks. Bits. */
const SENDERS_BITS_MIN = { 4: 24, 6: 64 } as const;

export class OwnInfrastructure {
  readonly #own: readonly OwnAddress[];
  /** Row i is entry i of `#own`. */
  readonly #table: PrefixTable;

  constructor(config: Named) {
    this.#own = ownAddresses(config);
    this.#table = PrefixTable.of(this.#own.map(({ prefix }) => prefix));
  }

  addresses(): readonly OwnAddress[] {
    return this.#own;
  }

  /** null: it may be banned. */
  refusalOf(target: IpAddress): OwnRefusal | null {
    const own = this.#own[this.#table.find(target)];
    return own === undefined ? null : refusal(own);
  }

  /** null: the prefix contains none of them, and lies in none. */
  refusalIn(prefix: Prefix): OwnRefusal | null {
    if (!this.#table.overlaps(prefix)) return null;
    const own = this.#own.find((one) => prefixContains(prefix, one.prefix.address));
    return own === undefined ? this.refusalOf(prefix.address) : refusal(own);
  }

  /** For the kernel, whose rules pass packets to them. */
  prefixes(): Prefix[] {
    return this.#own.map(({ prefix }) => prefix);
  }
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

/** As it is written: an address, or a prefix of several. */
export function ownText({ prefix }: OwnAddress): string {
  return prefix.length === addressBits(prefix.family) ? prefix.address : prefix.text;
}

export function isOwnRefusal(reason: string): reason is OwnRefusal {
  return reason.startsWith("own infrastructure: ");
}

function refusal(own: OwnAddress): OwnRefusal {
  return `own infrastructure: ${ownText(own)} is ${pathText(own.path)}; to ban it, change that key first`;
}

function* namedAddresses(config: Named): Generator<OwnAddress> {
  const { bgp, scrubbing, mitigations, api } = config;
  if (bgp !== null) {
    yield one(bgp.routerId, ["bgp", "router_id"]);
    for (const address of bgp.listen?.addresses ?? []) yield one(address, ["bgp", "listen"]);
    for (const [i, { address }] of bgp.neighbors.entries()) yield one(address, ["bgp", "neighbors", i, "address"]);
    yield* literal(bgp.grpc, ["bgp", "grpc"]);
  }
  for (const [group, { blackhole, divert }] of mitigations.entries()) {
    const path = group === 0 ? [] : ["hostgroups", group - 1];
    yield* nextHops(blackhole, [...path, "bgp"]);
    yield* nextHops(divert, [...path, "scrubbing"]);
  }
  for (const [i, node] of (scrubbing?.nodes ?? []).entries()) yield* nextHops(node, ["scrubbing", "nodes", i]);
  yield one(api.host, ["api", "listen"]);
  yield* senders(config);
  yield* servers(config);
}

/** What sends to the service, and both ends of the tunnels by which packets come and go on. */
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
function* servers({ storage, notify, updateCheck }: Named): Generator<OwnAddress> {
  if (storage.driver?.kind === "clickhouse") yield* literal(storage.driver.url, ["storage", "clickhouse", "url"]);
  yield* literal(notify.email?.host ?? null, ["notify", "email", "host"]);
  yield* literal(updateCheck.url, ["update_check", "url"]);
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
