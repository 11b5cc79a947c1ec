/** A target of notifications that a tenant set, and what the configuration allows. Pure. */
import type { Prefix } from "../net/prefix.ts";
import {
  EVENT_KINDS,
  type EventKind,
  SEVERITIES,
  type Severity,
  TENANT_KINDS,
  type TenantKind,
} from "./target-words.ts";

/** A target as a tenant set it; the reader knows its kinds. */
export interface TargetRecord {
  /** Unique: of the tenant and the name. */
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly kind: string;
  /** Secrets among them. Absent: the kind has none, or its default. */
  readonly url?: string;
  readonly secret?: string;
  readonly chatId?: string;
  /** At least; absent: each. */
  readonly severity?: string;
  /** Absent: all but those of orders. */
  readonly events?: readonly string[];
  readonly operator: string;
  /** Wall clock, ms. */
  readonly setAt: number;
}

export interface TenantTarget extends TargetRecord {
  readonly kind: TenantKind;
  readonly severity?: Severity;
  readonly events?: readonly EventKind[];
}

/** Unique among all targets: a name of the configuration has no slash. */
export function tenantTargetId(tenant: string, name: string): string {
  return `${tenant}/${name}`;
}

/** null: it was set with another build, and this one does not know its words. */
export function tenantTargetOf(record: TargetRecord): TenantTarget | null {
  const { kind, severity = "info", events = [] } = record;
  const isKnown =
    has(TENANT_KINDS, kind) && has(SEVERITIES, severity) && events.every((event) => has(EVENT_KINDS, event));
  return isKnown ? (record as TenantTarget) : null;
}

function has(words: readonly string[], word: string): boolean {
  return words.includes(word);
}

/** The targets that tenants may set. */
export interface TenantTargetRules {
  readonly kinds: ReadonlySet<TenantKind>;
  /** The places of each tenant. */
  readonly places: TargetPlaces;
  /** The places of one tenant, beside those of each. */
  readonly placesOf: ReadonlyMap<string, TargetPlaces>;
  /** Prefixes of translators (RFC 6052), beside the well-known one. */
  readonly nat64: readonly Prefix[];
}

/** Where targets may be. */
export interface TargetPlaces {
  /** Patterns of hosts and ports (net/host-pattern.ts). */
  readonly hosts: readonly string[];
  /** Private networks, or parts of this machine's, that they may reach. */
  readonly privateNetworks: readonly Prefix[];
}

export function placesOf(tenant: string, { places, placesOf: own }: TenantTargetRules): TargetPlaces {
  const { hosts, privateNetworks } = own.get(tenant) ?? { hosts: [], privateNetworks: [] };
  return {
    hosts: [...places.hosts, ...hosts],
    privateNetworks: [...places.privateNetworks, ...privateNetworks],
  };
}
