/** The inventory of edge nodes on the wire (docs/interface.md#edge-inventory). */
import { type Static, Type } from "@sinclair/typebox";
import type { EdgeNodeView } from "../../../edge/edge-nodes.ts";
import { Count, closedObject } from "../../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../../schema/timestamp.ts";
import { omitNulls } from "../omit-nulls.ts";
import { EdgeReportWire } from "./report.ts";

const names = Type.Optional(Type.Array(Type.String(), { minItems: 1 }));

const EDGE_NODE = {
  name: Type.String(),
  alive: Type.Boolean(),
  /** Another brain saw it last, and is out of reach: nothing that is done with it changes. Absent: it is known. */
  unknown: Type.Optional(Type.Literal(true)),
  /** A poll of the node is parked now. */
  holding: Type.Boolean(),
  /** The hostgroups whose zones it serves, in addition to zones without one. */
  hostgroups: Type.Array(Type.String()),
  zones_placed: Count,
  /** Names of the tokens that are bound to it. */
  tokens: names,
  /** Name of the token of its last accepted poll. */
  last_token: Type.Optional(Type.String()),
  /** When its last poll started or ended. Absent: none since the service started. */
  last_seen: Type.Optional(Timestamp),
  reported_at: Type.Optional(Timestamp),
};

const EdgeNodeWire = closedObject(EDGE_NODE);
/** Without its report, which is inserted as text. */
type EdgeNodeWire = Static<typeof EdgeNodeWire>;

export const EdgeInventoryWire = closedObject({
  nodes_total: Count,
  stale_after_seconds: Type.Integer({ minimum: 1 }),
  /** Names of agents' tokens that may act as any node. */
  unbound_agent_tokens: names,
  nodes: Type.Array(
    closedObject({
      ...EDGE_NODE,
      /** The last report, rewritten. */
      report: Type.Optional(EdgeReportWire),
    }),
  ),
});

interface EdgeNodeEntry {
  readonly view: EdgeNodeView;
  /** Names of bound tokens. */
  readonly tokens: readonly string[];
  /** Wall clock, ms; null: it has not reported. */
  readonly reportedAt: number | null;
}

export function edgeNodeToWire({ view, tokens, reportedAt }: EdgeNodeEntry): EdgeNodeWire {
  return omitNulls({
    name: view.name,
    alive: view.liveness === "alive",
    unknown: view.liveness === "unknown" ? (true as const) : null,
    holding: view.isHolding,
    hostgroups: [...view.scope],
    zones_placed: view.zonesPlaced,
    tokens: tokens.length === 0 ? null : [...tokens],
    last_token: view.lastToken,
    last_seen: view.lastSeenAt === null ? null : timestamp(view.lastSeenAt),
    reported_at: reportedAt === null ? null : timestamp(reportedAt),
  });
}
