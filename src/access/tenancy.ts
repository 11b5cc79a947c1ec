/** Which tenant owns an address or a hostgroup, by the configuration in force (choices, section 2: `tenant`). */
import type { Config } from "../config/config.ts";
import type { IpAddress } from "../net/address.ts";
import { PrefixSet } from "../net/prefix-set.ts";
import type { Principal } from "./principal.ts";

export class Tenancy {
  readonly #networks: PrefixSet;
  readonly #prefixes: PrefixSet;
  /** By a prefix's text. */
  readonly #owners: ReadonlyMap<string, string | null>;
  /** Of the implicit group `global`. */
  readonly #globalOwner: string | null;
  readonly #groups: ReadonlyMap<string, ReadonlySet<string>>;

  constructor({ networks, hostgroups }: Pick<Config, "networks" | "hostgroups">) {
    const owned = hostgroups.flatMap((group) => group.networks.map((prefix) => ({ prefix, tenant: group.tenant })));
    this.#networks = new PrefixSet(networks);
    this.#prefixes = new PrefixSet(owned.map(({ prefix }) => prefix));
    this.#owners = new Map(owned.map(({ prefix, tenant }) => [prefix.text, tenant]));
    this.#globalOwner = hostgroups[0]?.tenant ?? null;
    const byTenant = Map.groupBy(
      hostgroups.filter(({ tenant }) => tenant !== null),
      ({ tenant }) => tenant as string,
    );
    this.#groups = new Map([...byTenant].map(([tenant, groups]) => [tenant, new Set(groups.map(({ name }) => name))]));
  }

  /** By the hostgroup with the longest prefix, else by `global`; null: nobody's, as all outside of `networks`. */
  tenantOf(ip: IpAddress): string | null {
    const prefix = this.#prefixes.match(ip);
    if (prefix !== null) return this.#owners.get(prefix.text) ?? null;
    return this.#globalOwner !== null && this.#networks.match(ip) !== null ? this.#globalOwner : null;
  }

  /** Whether the caller may see and change what is at the address. */
  owns({ tenant }: Principal, ip: IpAddress): boolean {
    return tenant === null || this.tenantOf(ip) === tenant;
  }

  /** Names of hostgroups; `global` among them where it is the tenant's. */
  groupsOf(tenant: string): ReadonlySet<string> {
    return this.#groups.get(tenant) ?? NONE;
  }
}

const NONE: ReadonlySet<string> = new Set();
