/**
 * The section `scrubbing`: the nodes that poll for rules, and which hostgroups they serve
 * (docs/interface.md#scrub-channel).
 */
import { type Static, Type } from "@sinclair/typebox";
import { HOSTGROUPS_MAX, NODES_MAX, STALE_SECONDS_MAX } from "../../limits.ts";
import { type IpAddress, parseAddress } from "../../net/address.ts";
import { closed, integer, list, oneOf, text } from "../load/schema-forms.ts";
import { DIVERT_KEYS } from "./mitigation.ts";

/** Of a section that says nothing of it, and where there is none. */
export const STALE_AFTER_SECONDS = 15;

const NEXT_HOP_KEYS = { next_hop: Type.Optional(text("ipv4")), next_hop6: Type.Optional(text("ipv6")) };

const ScrubNode = Type.Object(
  {
    name: text("nodeName"),
    ...NEXT_HOP_KEYS,
    capacity_mbps: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    /** Absent: all. */
    hostgroups: Type.Optional(list(text("groupName"), HOSTGROUPS_MAX, { atLeastOne: true })),
  },
  closed,
);

export const ScrubbingSection = Type.Object(
  {
    ...DIVERT_KEYS,
    nodes: list(ScrubNode, NODES_MAX),
    node_selection: Type.Unsafe<NodeSelection>({ ...oneOf("affinity", "least_loaded"), default: "affinity" }),
    on_all_nodes_lost: Type.Unsafe<OnAllNodesLost>({
      ...oneOf("withdraw", "blackhole", "flowspec"),
      default: "withdraw",
    }),
    stale_after_seconds: integer(1, STALE_SECONDS_MAX, STALE_AFTER_SECONDS),
  },
  closed,
);

/** Which node a victim is diverted to: the same one whoever else comes and goes, or the one with the most room. */
export type NodeSelection = "affinity" | "least_loaded";
export type OnAllNodesLost = "withdraw" | "blackhole" | "flowspec";

export interface ScrubbingConfig {
  readonly nodes: readonly ScrubNodeConfig[];
  readonly selection: NodeSelection;
  /** What becomes of diverted traffic while there is no node to take it. */
  readonly onAllNodesLost: OnAllNodesLost;
  /** How long after it was last heard of a node is taken for lost. */
  readonly staleAfterSeconds: number;
}

export interface ScrubNodeConfig {
  readonly name: string;
  /** Both null: nothing is diverted to it. */
  readonly nextHop: IpAddress | null;
  readonly nextHop6: IpAddress | null;
  /** null: not said. */
  readonly capacityMbps: number | null;
  /** Whose traffic it takes; null: that of all. */
  readonly hostgroups: readonly string[] | null;
}

export function buildScrubbing(file: Static<typeof ScrubbingSection>): ScrubbingConfig {
  return {
    nodes: file.nodes.map((node) => ({
      name: node.name,
      ...nextHopsOf(node, file),
      capacityMbps: node.capacity_mbps ?? null,
      hostgroups: node.hostgroups ?? null,
    })),
    selection: file.node_selection,
    onAllNodesLost: file.on_all_nodes_lost,
    staleAfterSeconds: file.stale_after_seconds,
  };
}

interface NextHops {
  readonly next_hop?: string | undefined;
  readonly next_hop6?: string | undefined;
}

/** A node that names neither is the section's; one that names one takes that family alone. */
function nextHopsOf(node: NextHops, section: NextHops): Pick<ScrubNodeConfig, "nextHop" | "nextHop6"> {
  const { next_hop: nextHop, next_hop6: nextHop6 } = hasNextHop(node) ? node : section;
  return {
    nextHop: nextHop === undefined ? null : parseAddress(nextHop),
    nextHop6: nextHop6 === undefined ? null : parseAddress(nextHop6),
  };
}

function hasNextHop({ next_hop: nextHop, next_hop6: nextHop6 }: NextHops): boolean {
  return nextHop !== undefined || nextHop6 !== undefined;
}

/** Where the node takes the traffic of a hostgroup's addresses of a family; null: it does not. */
export function nextHopFor(node: ScrubNodeConfig, group: string, family: 4 | 6): IpAddress | null {
  if (node.hostgroups !== null && !node.hostgroups.includes(group)) return null;
  return family === 4 ? node.nextHop : node.nextHop6;
}
