/** Which addresses the targets of tenants reach from this machine. */
import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { serverNames } from "../config/own-addresses.ts";
import { parseAddress } from "../net/address.ts";
import { type Reach, reachOf } from "../notify/reach.ts";
import type { Floodwall } from "./floodwall.ts";

export function reachOfTenants(floodwall: Pick<Floodwall, "config">): Reach {
  return reachOf({
    resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
    allowed: () => floodwall.config.notify.tenantTargets?.privateNetworks ?? [],
    ownNames: () => serverNames(floodwall.config),
    isOwn: (address) => floodwall.config.own.refusalOf(address) !== null || machineAddresses().has(address),
  });
}

/** Addresses come and go while the service runs. */
function machineAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return new Set(all.map(({ address }) => parseAddress(address.replace(/%.*$/, "")) ?? ""));
}
