/** Which neighbors are to get a route before and after a change of the configuration. Pure. */
import type { Route } from "../mitigation/announcer.ts";
import type { Reach } from "../mitigation/wanted-changes.ts";
import type { BgpConfig } from "./bgp-config.ts";
import { NeighborPolicies } from "./neighbor-policies.ts";

type Configured = Pick<BgpConfig, "speaker" | "localAsn" | "neighbors" | "communitiesAt">;

/** null: the change concerns no neighbor. */
export function reachChange(before: Configured | null, after: Configured | null): Reach | null {
  if (before === null || after === null || Bun.deepEquals(before.neighbors, after.neighbors)) return null;
  return { before: reachOf(before), after: reachOf(after) };
}

function reachOf(config: Configured): (route: Route) => readonly string[] {
  const policies = new NeighborPolicies(config);
  return (route) => policies.addresses.filter((address) => policies.refusalAt(address, route) === null);
}
