/** Settings of zones that are valid but may be unintended. Paths are those of the zones file. */
import type { EdgeConfig } from "../../edge/edge-config.ts";
import { isPlaced, scopeOf } from "../../edge/zones/placement.ts";
import type { Finding } from "../../schema/shape.ts";

/** Zones that no node serves. */
export function* zonesWarnings({ zones, nodes }: EdgeConfig, indexOf: (zone: string) => number): Generator<Finding> {
  if (nodes.length === 0) {
    if (zones.length > 0) yield { path: ["zones"], rule: "are served by no node: edge.nodes is empty" };
    return;
  }
  const scopes = nodes.map(scopeOf);
  for (const zone of zones) {
    if (scopes.some((scope) => isPlaced(zone, scope))) continue;
    const rule = `${zone.name} is served by no node: none of edge.nodes lists the hostgroup ${zone.hostgroup}`;
    yield { path: ["zones", indexOf(zone.name)], rule };
  }
}
