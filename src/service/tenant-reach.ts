/** Which addresses the targets of a tenant reach from this machine. */
import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { serverNames } from "../config/own-addresses.ts";
import { parseAddress } from "../net/address.ts";
import { type Reach, reachOf } from "../notify/reach.ts";
import { placesOf } from "../targets/tenant-target.ts";
import type { Floodwall } from "./floodwall.ts";

export function reachOfTenant(floodwall: Pick<Floodwall, "config">, tenant: string): Reach {
  const rules = () => floodwall.config.notify.tenantTargets;
  return reachOf({
    resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
    allowed: () => {
      const present = rules();
      return present === null ? [] : placesOf(tenant, present).privateNetworks;
    },
    nat64: () => rules()?.nat64 ?? [],
    ownNames: () => serverNames(floodwall.config),
    isOwn: (address) => floodwall.config.own.refusalOf(address) !== null || machineAddresses().has(address),
  });
}

/** Addresses come and go while the service runs. */
function machineAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return new Set(all.map(({ address }) => parseAddress(address.replace(/%.*$/, "")) ?? ""));
}
