/** Which hosts receive an attack now: alone, as a part of an attacked prefix, or of an attacked hostgroup. */
import type { IpAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import type { NetworkLookup } from "../../traffic/network-lookup.ts";
import type { ActiveAttacks } from "../attack/active-attacks.ts";

interface Grouped {
  readonly lookup: NetworkLookup;
  /** In the order of the lookup. */
  readonly hostgroups: readonly { readonly name: string }[];
}

export function attackedHosts(active: ActiveAttacks, { lookup, hostgroups }: Grouped): (host: IpAddress) => boolean {
  const prefixes = [...active.carpets()].map(({ carpet }) => parsePrefix(carpet.prefix));
  const carpets = PrefixTable.of(prefixes.filter((prefix) => prefix !== null));
  const isInCarpet = (host: IpAddress) => active.carpetCount > 0 && carpets.find(host) >= 0;
  const isInGroup = (host: IpAddress) => {
    const group = active.hasGroups ? hostgroups[lookup.group(host)] : undefined;
    return group !== undefined && active.ofGroup(group.name, "incoming") !== null;
  };
  return (host) => active.ofHost(host, "incoming") !== null || isInCarpet(host) || isInGroup(host);
}
