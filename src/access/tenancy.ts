/** Which tenant owns an address or a hostgroup, by the configuration in force (docs/interface.md#roles). */
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { NetworkLookup } from "../traffic/network-lookup.ts";
import type { Principal } from "./principal.ts";

/** A hostgroup, in the order of the lookup. */
interface Owned {
  readonly name: string;
  /** null: no tenant owns it. */
  readonly tenant: string | null;
}

export class Tenancy {
  readonly #lookup: NetworkLookup;
  readonly #hostgroups: readonly Owned[];
  readonly #groups: ReadonlyMap<string, ReadonlySet<string>>;

  constructor({ lookup, hostgroups }: { readonly lookup: NetworkLookup; readonly hostgroups: readonly Owned[] }) {
    this.#lookup = lookup;
    this.#hostgroups = hostgroups;
    const byTenant = Map.groupBy(
      hostgroups.filter(({ tenant }) => tenant !== null),
      ({ tenant }) => tenant as string,
    );
    this.#groups = new Map([...byTenant].map(([tenant, groups]) => [tenant, new Set(groups.map(({ name }) => name))]));
  }

  /**
   * Decided by the hostgroup with the longest prefix, else by `global`; null: no tenant, as for every address outside
   * of `networks`.
   */
  tenantOf(ip: IpAddress): string | null {
    return this.#hostgroups[this.#lookup.group(ip)]?.tenant ?? null;
  }

  /** The name of the hostgroup of an address; null: it is outside of `networks`. */
  groupOf(ip: IpAddress): string | null {
    return this.#hostgroups[this.#lookup.group(ip)]?.name ?? null;
  }

  /** The hostgroup that all addresses of a prefix are in; null: there is none. */
  groupOfAll(prefix: Prefix): string | null {
    return this.#hostgroups[this.#lookup.groupOf(prefix)]?.name ?? null;
  }

  /** The owner of an address, or of a hostgroup as a whole. */
  ownerOf({ target, group }: { readonly target: IpAddress | null; readonly group: string }): string | null {
    if (target !== null) return this.tenantOf(target);
    return this.#hostgroups.find(({ name }) => name === group)?.tenant ?? null;
  }

  /** Whether the caller may see and change objects at the address. */
  owns({ tenant }: Principal, ip: IpAddress): boolean {
    return tenant === null || this.tenantOf(ip) === tenant;
  }

  /** The same for all addresses of a prefix; a tenant owns none that is not within one of its hostgroups. */
  ownsAll({ tenant }: Pick<Principal, "tenant">, prefix: Prefix): boolean {
    return tenant === null || this.#hostgroups[this.#lookup.groupOf(prefix)]?.tenant === tenant;
  }

  /** Whether the hostgroup exists and the caller may see it. */
  hasGroup({ tenant }: Pick<Principal, "tenant">, group: string): boolean {
    return this.#hostgroups.some((own) => own.name === group && (tenant === null || own.tenant === tenant));
  }

  /** Names of the tenant's hostgroups, with `global` if the tenant owns it. */
  groupsOf(tenant: string): ReadonlySet<string> {
    return this.#groups.get(tenant) ?? NONE;
  }
}

const NONE: ReadonlySet<string> = new Set();

interface OwnedNetworks {
  readonly networks: readonly Prefix[];
  readonly hostgroups: readonly (Owned & { readonly networks: readonly Prefix[] })[];
}

/** Whether every address and every hostgroup has the same owner by two configurations. */
export function haveSameOwners(one: OwnedNetworks, other: OwnedNetworks): boolean {
  return ownersText(one) === ownersText(other);
}

function ownersText({ networks, hostgroups }: OwnedNetworks): string {
  const textsOf = (prefixes: readonly Prefix[]) => prefixes.map(({ text }) => text);
  return JSON.stringify([
    textsOf(networks),
    hostgroups.map(({ name, tenant, networks: own }) => [name, tenant, textsOf(own)]),
  ]);
}
