/** Rules between the keys of `scrubbing`, its nodes, and what diverts traffic to them. */

import { areAllTaken, parsePrefix } from "../../net/prefix.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { type Level, levels } from "./mitigation.ts";

type File = Pruned<ConfigFile>;
type NodeFile = NonNullable<NonNullable<File["scrubbing"]>["nodes"]>[number];
type NextHops = { readonly next_hop?: string | undefined; readonly next_hop6?: string | undefined };

const NO_SCRUBBER = "divert needs scrubbing.next_hop, or next_hop6: where scrubbing is done";

export function* hookIsWhole({ scrubbing }: File): Generator<Finding> {
  const { hook, nodes = [] } = scrubbing ?? {};
  if (hook === undefined) return;
  const path = ["scrubbing", "hook"];
  const [isProgram, isWeb] = ["command" in hook, "url_env" in hook];
  if (isProgram && isWeb) yield { path: [...path, "url_env"], rule: "takes the place of command: remove one of them" };
  if (!isProgram && !isWeb) yield { path: [...path, "command"], rule: "is required, or url_env: what diverts" };
  if (isProgram && "secret_env" in hook)
    yield { path: [...path, "secret_env"], rule: "goes with url_env: a program gets no signature" };
  if (nodes.length > 0) yield { path, rule: "goes without scrubbing.nodes: one of them takes the traffic" };
}

/** A next hop of one family is enough: the other family uses the fallback, and the check warns about it. */
export function* divertHasANextHop(file: File): Generator<Finding> {
  for (const { level, path } of levels(file)) {
    const rule = missingScrubber(file, level);
    if (rule === null) continue;
    for (const at of divertingPlaces(file, level, path)) yield { path: at, rule };
  }
  if (file.carpet?.mitigation === "divert" && !hasAnyNextHop(file)) {
    yield { path: ["carpet", "mitigation"], rule: NO_SCRUBBER };
  }
}

type LevelOfGroup = Level & { readonly name?: string | undefined; readonly scrubbing?: NextHops | undefined };

/** null: there is one, or it could not be read. */
function missingScrubber(file: File, { name = "global", scrubbing = {} }: LevelOfGroup): string | null {
  const global: NextHops = file.scrubbing ?? {};
  const nodes = file.scrubbing?.nodes ?? [];
  if (file.scrubbing !== undefined && "hook" in file.scrubbing) return null;
  if (nodes.length === 0) return hasNextHop(scrubbing) || hasNextHop(global) ? null : NO_SCRUBBER;
  if (nodes.some((node) => node === undefined || (serves(node, name) && hasNextHop(hopsOf(node, global))))) return null;
  if (name === "global" && isEmpty(file)) return null;
  return `divert needs a node in scrubbing.nodes that serves hostgroup ${name} and has a next_hop, or next_hop6`;
}

/** Whether no address is left to the hostgroup global. */
function isEmpty({ networks, hostgroups }: File): boolean {
  const prefixes = (texts: readonly (string | undefined)[]) => texts.flatMap((text) => parsePrefix(text ?? "") ?? []);
  return areAllTaken(prefixes(networks ?? []), prefixes((hostgroups ?? []).flatMap((group) => group?.networks ?? [])));
}

function hasAnyNextHop({ scrubbing }: File): boolean {
  const nodes = scrubbing?.nodes ?? [];
  return (
    "hook" in (scrubbing ?? {}) ||
    hasNextHop(scrubbing ?? {}) ||
    nodes.some((node) => node === undefined || hasNextHop(node))
  );
}

function serves(node: NonNullable<NodeFile>, group: string): boolean {
  return node.hostgroups === undefined || node.hostgroups.some((name) => name === undefined || name === group);
}

function hopsOf(node: NextHops, section: NextHops): NextHops {
  return hasNextHop(node) ? node : section;
}

function hasNextHop(terms: NextHops): boolean {
  return "next_hop" in terms || "next_hop6" in terms;
}

/**
 * The places in the file that choose diverting. A group without its own setting inherits the top-level one, if nodes
 * serve groups.
 */
function* divertingPlaces(file: File, level: Level, path: ConfigPath): Generator<ConfigPath> {
  for (const at of placesOf(level)) yield [...path, ...at];
  const { mitigation, escalation } = level;
  const isInherited = path.length > 0 && mitigation === undefined && escalation === undefined;
  const isByNodes = (file.scrubbing?.nodes ?? []).length > 0;
  if (isInherited && isByNodes) yield* placesOf({ ...(file as Level), ban: {} });
}

function* placesOf({ mitigation, escalation, ban }: Level): Generator<ConfigPath> {
  if (mitigation === "divert") yield ["mitigation"];
  for (const [i, rung] of (escalation ?? []).entries())
    if (rung?.action === "divert") yield ["escalation", i, "action"];
  if (ban?.fallback === "divert") yield ["ban", "fallback"];
}

/** If there are nodes, they receive the traffic; a node is chosen for each ban. */
export function* groupNextHopsGoWithoutNodes(file: File): Generator<Finding> {
  if ((file.scrubbing?.nodes ?? []).length === 0) return;
  for (const [i, group] of (file.hostgroups ?? []).entries()) {
    for (const key of ["next_hop", "next_hop6"] as const) {
      if (!(key in (group?.scrubbing ?? {}))) continue;
      const rule = `goes without scrubbing.nodes, which take the traffic: give a node hostgroups: [${group?.name ?? ""}], or remove this`;
      yield { path: ["hostgroups", i, "scrubbing", key], rule };
    }
  }
}

export function* leastLoadedNeedsCapacities({ scrubbing }: File): Generator<Finding> {
  if (scrubbing?.node_selection !== "least_loaded") return;
  for (const [i, node] of (scrubbing.nodes ?? []).entries()) {
    if (node === undefined || "capacity_mbps" in node) continue;
    const rule = "is required with node_selection least_loaded: what the node can take, in megabits per second";
    yield { path: ["scrubbing", "nodes", i, "capacity_mbps"], rule };
  }
}
