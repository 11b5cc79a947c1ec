/** Changes in the fleet of edge nodes, newest first (docs/interface.md#edge-events). */
import { Value } from "@sinclair/typebox/value";
import type { EdgeNodes } from "../../../edge/edge-nodes.ts";
import { HISTORY_ROWS_MAX } from "../../../limits.ts";
import type { Clock } from "../../../system/clock.ts";
import type { Backend } from "../../backend.ts";
import type { ReadRoute } from "../../route.ts";
import { RANGE_PARAMETERS } from "../../route-description.ts";
import { jsonAnswer } from "../../server/answer.ts";
import { invalidQuery, parameter } from "../../server/query.ts";
import { timeRange } from "../../time-range.ts";
import { EdgeEventKindWire, EdgeEventsWire, edgeEventToWire } from "../../wire/edge/history.ts";
import { NameText } from "../../wire/request-texts.ts";

interface EdgeEventsSources {
  readonly backend: Pick<Backend, "edgeHistory">;
  readonly nodes: Pick<EdgeNodes, "has">;
  readonly clock: Pick<Clock, "wallMs">;
}

export function edgeEventsRoute({ backend, nodes, clock }: EdgeEventsSources): ReadRoute {
  return {
    name: "edge_events",
    method: "GET",
    path: "/api/v1/edge/events",
    access: "viewer",
    asksHistory: true,
    unscopedOnly: true,
    about: {
      summary: "Changes in the fleet of edge nodes, newest first; the current state is in the inventory",
      query: {
        ...RANGE_PARAMETERS,
        node: { text: "Only of this edge node.", schema: NameText },
        zone: { text: "Only of this zone, in any case.", schema: NameText },
        kind: { text: "Only of this kind.", schema: EdgeEventKindWire },
      },
      answers: {
        200: {
          text: `At most ${HISTORY_ROWS_MAX}; with storage off none, and available is false.`,
          schema: EdgeEventsWire,
        },
        404: { text: "There is no such edge node." },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ query }) => {
      const range = timeRange(query, clock.wallMs());
      if (range.kind !== "range") return range;
      const kind = parameter(query, "kind");
      if (kind !== null && !Value.Check(EdgeEventKindWire, kind)) return invalidQuery(`unknown kind: ${kind}`);
      const { edgeHistory } = backend;
      if (edgeHistory === null) return jsonAnswer(200, { available: false, events: [] });
      const node = parameter(query, "node");
      if (node !== null && !nodes.has(node)) return { kind: "unknown_edge_node" };
      const zone = parameter(query, "zone")?.toLowerCase() ?? null;
      const { fromMs, toMs } = range;
      const events = await edgeHistory.events({ node, zone, kind, fromMs, toMs }, null);
      return jsonAnswer(200, { available: true, events: events.map(edgeEventToWire) });
    },
  };
}
