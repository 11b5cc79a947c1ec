/** The section `scrubbing`: the scrub nodes, and which traffic goes to each. */
import type { IpAddress } from "../net/address.ts";

export interface ScrubbingConfig {
  readonly nodes: readonly ScrubNodeConfig[];
  readonly selection: NodeSelection;
  /** The fate of diverted bans while no node can take their traffic. */
  readonly onAllNodesLost: OnAllNodesLost;
  /** For people, of the next hops of the section; absent: none. */
  readonly nextHopName?: string;
  /** Time without a poll after which a node counts as lost. */
  readonly staleAfterSeconds: number;
}

export interface ScrubNodeConfig {
  readonly name: string;
  /** For people; absent: none. */
  readonly description?: string;
  /** Both null: nothing is diverted to it. */
  readonly nextHop: IpAddress | null;
  readonly nextHop6: IpAddress | null;
  /** null: not set. */
  readonly capacityMbps: number | null;
  /** Hostgroups whose traffic it takes; null: all. */
  readonly hostgroups: readonly string[] | null;
}

/**
 * How a victim's node is chosen: always the same one, independent of other nodes, or the one with the most free
 * capacity.
 */
export type NodeSelection = "affinity" | "least_loaded";

export type OnAllNodesLost = "withdraw" | "blackhole" | "flowspec";

/** Where the node takes the traffic of a hostgroup's addresses of a family; null: it does not. */
export function nextHopFor(node: ScrubNodeConfig, group: string, family: 4 | 6): IpAddress | null {
  if (node.hostgroups !== null && !node.hostgroups.includes(group)) return null;
  return family === 4 ? node.nextHop : node.nextHop6;
}
