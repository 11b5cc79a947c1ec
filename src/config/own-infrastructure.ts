/**
 * The addresses that the service itself needs, wherever the configuration names them: banned or filtered, they would cut
 * the service off its routers and nodes. Derived from the configuration in force, beside `protected_whitelist`.
 */
import type { IpAddress } from "../net/address.ts";
import { hostPrefix, type Prefix, prefixContains } from "../net/prefix.ts";
import type { Config } from "./config.ts";
import { type ConfigPath, pathText } from "./load/problem.ts";
import { isLoopback } from "./load/text-forms.ts";
import type { RouteTerms } from "./sections/mitigation.ts";

type Named = Pick<Config, "bgp" | "scrubbing" | "mitigations" | "api">;

export interface OwnAddress {
  readonly address: IpAddress;
  /** The first key that names it. */
  readonly path: ConfigPath;
}

/** Why an address, or a prefix that contains it, is not banned: names the address and its key. */
export type OwnRefusal = `own infrastructure: ${string}`;

const UNSPECIFIED = ["0.0.0.0", "::"];

export class OwnInfrastructure {
  readonly #addresses = new Map<IpAddress, OwnAddress>();

  constructor(config: Named) {
    for (const own of namedAddresses(config)) {
      const { address } = own;
      if (UNSPECIFIED.includes(address) || isLoopback(address) || this.#addresses.has(address)) continue;
      this.#addresses.set(address, own);
    }
  }

  addresses(): OwnAddress[] {
    return [...this.#addresses.values()];
  }

  /** null: it may be banned. */
  refusalOf(target: IpAddress): OwnRefusal | null {
    const own = this.#addresses.get(target);
    return own === undefined ? null : refusal(own);
  }

  /** null: the prefix contains none of them. */
  refusalIn(prefix: Prefix): OwnRefusal | null {
    for (const own of this.#addresses.values()) if (prefixContains(prefix, own.address)) return refusal(own);
    return null;
  }

  /** For the kernel, whose rules pass packets to them. */
  prefixes(): Prefix[] {
    return this.addresses().map(({ address }) => hostPrefix(address));
  }
}

export function isOwnRefusal(reason: string): reason is OwnRefusal {
  return reason.startsWith("own infrastructure: ");
}

function refusal({ address, path }: OwnAddress): OwnRefusal {
  return `own infrastructure: ${address} is ${pathText(path)}; to ban it, change that key first`;
}

function* namedAddresses({ bgp, scrubbing, mitigations, api }: Named): Generator<OwnAddress> {
  if (bgp !== null) {
    yield { address: bgp.routerId, path: ["bgp", "router_id"] };
    for (const address of bgp.listen?.addresses ?? []) yield { address, path: ["bgp", "listen"] };
    for (const [i, { address }] of bgp.neighbors.entries()) yield { address, path: ["bgp", "neighbors", i, "address"] };
  }
  for (const [group, { blackhole, divert }] of mitigations.entries()) {
    const path = group === 0 ? [] : ["hostgroups", group - 1];
    yield* nextHops(blackhole, [...path, "bgp"]);
    yield* nextHops(divert, [...path, "scrubbing"]);
  }
  for (const [i, node] of (scrubbing?.nodes ?? []).entries()) yield* nextHops(node, ["scrubbing", "nodes", i]);
  yield { address: api.host, path: ["api", "listen"] };
}

function* nextHops(terms: Pick<RouteTerms, "nextHop" | "nextHop6"> | null, path: ConfigPath): Generator<OwnAddress> {
  if (terms === null) return;
  if (terms.nextHop !== null) yield { address: terms.nextHop, path: [...path, "next_hop"] };
  if (terms.nextHop6 !== null) yield { address: terms.nextHop6, path: [...path, "next_hop6"] };
}
