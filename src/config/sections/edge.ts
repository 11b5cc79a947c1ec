/**
 * The section `edge`: the nodes that poll for their zones, and the file with these (docs/interface.md#edge-channel).
 */
import { type Static, Type } from "@sinclair/typebox";
import type { Zone } from "../../edge/zone.ts";
import { HOSTGROUPS_MAX, NODES_MAX, STALE_SECONDS_MAX } from "../../limits.ts";
import { closed, integer, list, text } from "../load/schema-forms.ts";
import { STALE_AFTER_SECONDS } from "./nodes.ts";

const EdgeNode = Type.Object(
  {
    name: text("nodeName"),
    /** Absent: `[global]`. */
    hostgroups: Type.Optional(list(text("groupName"), HOSTGROUPS_MAX, { atLeastOne: true })),
  },
  closed,
);

export const EdgeSection = Type.Object(
  {
    zones_file: Type.Optional(text("absolutePath")),
    nodes: list(EdgeNode, NODES_MAX),
    stale_after_seconds: integer(1, STALE_SECONDS_MAX, STALE_AFTER_SECONDS),
  },
  closed,
);

export interface EdgeConfig {
  readonly nodes: readonly EdgeNodeConfig[];
  /** null: there are no zones. */
  readonly zonesFile: string | null;
  /** Of the zones file, by name. */
  readonly zones: readonly Zone[];
  /** How long after it was last heard of a node is taken for lost. */
  readonly staleAfterSeconds: number;
}

export interface EdgeNodeConfig {
  readonly name: string;
  /** null: no placement scope of its own, `[global]` holds. */
  readonly hostgroups: readonly string[] | null;
}

export function buildEdge(file: Static<typeof EdgeSection>, zones: readonly Zone[]): EdgeConfig {
  return {
    nodes: file.nodes.map(({ name, hostgroups }) => ({ name, hostgroups: hostgroups ?? null })),
    zonesFile: file.zones_file ?? null,
    zones,
    staleAfterSeconds: file.stale_after_seconds,
  };
}
