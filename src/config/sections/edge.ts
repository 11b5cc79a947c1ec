/** The section `edge`: the edge nodes, and the file of their zones (docs/interface.md#edge-channel). */
import { type Static, Type } from "@sinclair/typebox";
import type { EdgeConfig } from "../../edge/edge-config.ts";
import type { Zone } from "../../edge/zones/zone.ts";
import { HOSTGROUPS_MAX, NODES_MAX } from "../../limits.ts";
import { STALE_AFTER_SECONDS } from "../../nodes/node-presence.ts";
import { closedObject, described, integer, list, text } from "../../schema/schema-forms.ts";
import { STALE_SECONDS_MAX } from "./nodes.ts";

const EdgeNode = closedObject({
  name: described(text("nodeName"), "The name of the node, unique among the edge nodes."),
  hostgroups: described(
    Type.Optional(list(text("groupName"), HOSTGROUPS_MAX, { atLeastOne: true })),
    "The hostgroups whose zones the node serves, in addition to zones without a hostgroup.",
    { ifAbsent: "the group `global`" },
  ),
});

export const EdgeSection = described(
  closedObject({
    zones_file: described(
      Type.Optional(text("absolutePath")),
      "The zones file. It is read together with this file, at start and at each reload. A reload is refused while it has errors; a start uses the last good zones, which `state_dir` keeps.",
      { ifAbsent: "no zones" },
    ),
    nodes: described(list(EdgeNode, NODES_MAX), "The edge nodes, which poll the service for their zones."),
    stale_after_seconds: described(
      integer(1, STALE_SECONDS_MAX, STALE_AFTER_SECONDS),
      "A node that has not polled for this long is considered lost.",
    ),
  }),
  "Edge nodes: reverse proxies that serve the zones of the zones file. Without this section there are none.",
  { examples: [{ nodes: [{ name: "edge1" }] }] },
);

export function buildEdge(file: Static<typeof EdgeSection>, zones: readonly Zone[]): EdgeConfig {
  return {
    nodes: file.nodes.map(({ name, hostgroups }) => ({ name, hostgroups: hostgroups ?? null })),
    zonesFile: file.zones_file ?? null,
    zones,
    areZonesKnown: true,
    staleAfterSeconds: file.stale_after_seconds,
  };
}
