/** Which addresses the targets of a tenant reach from this machine. */
import { lookup } from "node:dns/promises";
import { callersNow } from "../access/shares.ts";
import { serverNames } from "../config/own-addresses.ts";
import { NameLookups } from "../notify/name-lookups.ts";
import { type Reach, reachOf } from "../notify/reach.ts";
import { isOfThisMachine } from "../system/machine-address.ts";
import type { Timers } from "../system/timers.ts";
import { placesOf } from "../targets/tenant-target.ts";
import type { Floodwall } from "./floodwall.ts";

/** @returns by tenant; all of them share the places of lookups. */
export function tenantReach(
  floodwall: Pick<Floodwall, "config">,
  timers: Pick<Timers, "after">,
): (tenant: string) => Reach {
  const lookups = new NameLookups({
    lookup: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
    callers: callersNow(() => floodwall.config.api.callers),
    timers,
  });
  return (tenant) => reachOfTenant(floodwall, tenant, lookups);
}

function reachOfTenant(floodwall: Pick<Floodwall, "config">, tenant: string, lookups: NameLookups): Reach {
  const rules = () => floodwall.config.notify.tenantTargets;
  return reachOf({
    resolve: (name) => lookups.resolve(name, tenant),
    resolveOwn: (name) => lookups.resolve(name, null),
    allowed: () => {
      const present = rules();
      return present === null ? [] : placesOf(tenant, present).privateNetworks;
    },
    nat64: () => rules()?.nat64 ?? [],
    ownNames: () => serverNames(floodwall.config),
    isOwn: async (address) => floodwall.config.own.refusalOf(address) !== null || isOfThisMachine(address),
  });
}
