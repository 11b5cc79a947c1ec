/** The section `scrubbing`: the scrub nodes and the hostgroups that they serve (docs/interface.md#scrub-channel). */
import { type Static, Type } from "@sinclair/typebox";
import { HOSTGROUPS_MAX, NODES_MAX } from "../../limits.ts";
import { parseAddress } from "../../net/address.ts";
import { STALE_AFTER_SECONDS } from "../../nodes/node-presence.ts";
import { closedObject, described, integer, list, oneOf, text } from "../../schema/schema-forms.ts";
import type { NodeSelection, OnAllNodesLost, ScrubbingConfig, ScrubNodeConfig } from "../../scrub/scrubbing-config.ts";
import { HookSection } from "./diversion-hook.ts";
import { DIVERT_KEYS } from "./route-terms.ts";

/** The longest configurable time without a poll after which a node still counts as alive, seconds. */
export const STALE_SECONDS_MAX = 3600;

const NEXT_HOP_KEYS = {
  next_hop: described(
    Type.Optional(text("ipv4")),
    "Where the node accepts diverted IPv4 traffic. A node that sets one of `next_hop` and `next_hop6` takes that family only.",
    { ifAbsent: "that of `scrubbing`" },
  ),
  next_hop6: described(Type.Optional(text("ipv6")), "Where the node accepts diverted IPv6 traffic.", {
    ifAbsent: "that of `scrubbing`",
  }),
};

const ScrubNode = closedObject({
  name: described(text("nodeName"), "The name of the node, unique among the scrub nodes."),
  description: described(Type.Optional(text("description")), "A description for people, shown beside the name."),
  ...NEXT_HOP_KEYS,
  capacity_mbps: described(
    Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    "The traffic that the node can take. Required with node selection `least_loaded`.",
  ),
  hostgroups: described(
    Type.Optional(list(text("groupName"), HOSTGROUPS_MAX, { atLeastOne: true })),
    "The hostgroups whose traffic the node takes; `global` is one of them.",
    { ifAbsent: "all" },
  ),
});

export const ScrubbingSection = described(
  closedObject({
    ...DIVERT_KEYS,
    next_hop_name: described(
      Type.Optional(text("hopName")),
      "The name by which the dashboard shows `next_hop` and `next_hop6`, beside the address.",
    ),
    hook: Type.Optional(HookSection),
    nodes: described(list(ScrubNode, NODES_MAX), "The scrub nodes, which poll the service for what they drop."),
    node_selection: described(
      Type.Unsafe<NodeSelection>({ ...oneOf("affinity", "least_loaded"), default: "affinity" }),
      "How the node of a diverted victim is chosen among the nodes that are alive: `affinity` always chooses the same one, `least_loaded` the one with the most free capacity.",
    ),
    on_all_nodes_lost: described(
      Type.Unsafe<OnAllNodesLost>({
        ...oneOf("withdraw", "blackhole", "flowspec"),
        default: "withdraw",
      }),
      "The fate of diverted bans while no node is alive: they end (`withdraw`) and come back with a node, or they use another method.",
    ),
    stale_after_seconds: described(
      integer(1, STALE_SECONDS_MAX, STALE_AFTER_SECONDS),
      "A node that has not polled for this long is considered lost.",
    ),
  }),
  "Where diverted traffic goes. At least one next hop, here or of a node, or a `hook`, is required if a method or rung diverts.",
  {
    examples: [
      {
        communities: ["64500:2"],
        nodes: [
          { name: "scrub1", next_hop: "192.0.2.67", capacity_mbps: 10_000 },
          { name: "scrub2", next_hop: "192.0.2.68", capacity_mbps: 10_000 },
        ],
        node_selection: "least_loaded",
      },
      { announce_v4: 24, hook: { command: "/etc/floodwall/divert", confirm_seconds: 600 } },
    ],
  },
);

export function buildScrubbing(file: Static<typeof ScrubbingSection>): ScrubbingConfig {
  return {
    nodes: file.nodes.map((node) => ({
      name: node.name,
      ...(node.description !== undefined && { description: node.description }),
      ...nextHopsOf(node, file),
      capacityMbps: node.capacity_mbps ?? null,
      hostgroups: node.hostgroups ?? null,
    })),
    selection: file.node_selection,
    ...(file.next_hop_name !== undefined && { nextHopName: file.next_hop_name }),
    onAllNodesLost: file.on_all_nodes_lost,
    staleAfterSeconds: file.stale_after_seconds,
  };
}

interface NextHops {
  readonly next_hop?: string | undefined;
  readonly next_hop6?: string | undefined;
}

/** A node without a next hop uses the section's; a node with one takes that family only. */
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
