/**
 * The history of zones, their reported sources and the events of edge nodes on the wire
 * (docs/interface.md#edge-history).
 */
import { type Static, Type } from "@sinclair/typebox";
import {
  EDGE_COUNTERS,
  EDGE_EVENT_KINDS,
  type EdgeCounts,
  type EdgeEvent,
  type EdgeHistoryPoint,
  type EdgeHistoryQuery,
  type EdgeSourceTotal,
  REPORTED_STATES,
} from "../../../edge/reports/edge-history.ts";
import { Count, closedObject, oneOf } from "../../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../../schema/timestamp.ts";
import { round } from "../../../traffic/rates.ts";
import { omitNulls } from "../omit-nulls.ts";

export const ReportedStateWire = oneOf(...REPORTED_STATES);
export const EdgeEventKindWire = oneOf(...EDGE_EVENT_KINDS);

const EdgePointWire = closedObject({
  /** Start of the bucket. */
  ts: Timestamp,
  /** Distinct nodes that reported in the bucket. */
  nodes: Count,
  /** The longest observation time of one node: requests / window_seconds is the rate of all nodes. */
  window_seconds: Type.Number(),
  ...(Object.fromEntries(EDGE_COUNTERS.map((name) => [name, Count])) as Record<keyof EdgeCounts, typeof Count>),
});

/** With storage off there are only `available` and `points`. */
export const EdgeHistoryWire = closedObject({
  available: Type.Boolean(),
  zone: Type.Optional(Type.String()),
  node: Type.Optional(Type.String()),
  step_seconds: Type.Optional(Type.Integer()),
  points: Type.Array(EdgePointWire),
});
export type EdgeHistoryWire = Static<typeof EdgeHistoryWire>;

const EdgeSourceWire = closedObject({
  source: Type.String(),
  /** The strongest in the range. */
  state: ReportedStateWire,
  requests: Count,
  windows: Count,
  nodes: Count,
  first_seen: Timestamp,
  last_seen: Timestamp,
});

export const EdgeSourcesWire = closedObject({
  available: Type.Boolean(),
  zone: Type.String(),
  state: Type.Optional(ReportedStateWire),
  sources: Type.Array(EdgeSourceWire),
});

const EdgeEventWire = closedObject({
  event_time: Timestamp,
  node: Type.String(),
  /** Absent: the event is about the node as a whole. */
  zone: Type.Optional(Type.String()),
  kind: EdgeEventKindWire,
  detail: Type.String(),
});

export const EdgeEventsWire = closedObject({ available: Type.Boolean(), events: Type.Array(EdgeEventWire) });

export function edgeHistoryToWire(
  { zone, node, stepSeconds }: EdgeHistoryQuery,
  points: readonly EdgeHistoryPoint[],
): EdgeHistoryWire {
  const head = omitNulls({ available: true, zone, node, step_seconds: stepSeconds });
  return { ...head, points: points.map(pointToWire) };
}

function pointToWire({ atSeconds, nodes, seconds, counts }: EdgeHistoryPoint): Static<typeof EdgePointWire> {
  return { ts: timestamp(atSeconds * 1000), nodes, window_seconds: round(seconds), ...counts };
}

export function edgeSourceToWire(total: EdgeSourceTotal): Static<typeof EdgeSourceWire> {
  const { source, state, requests, windows, nodes, firstMs, lastMs } = total;
  return { source, state, requests, windows, nodes, first_seen: timestamp(firstMs), last_seen: timestamp(lastMs) };
}

export function edgeEventToWire({ atMs, node, zone, kind, detail }: EdgeEvent): Static<typeof EdgeEventWire> {
  return omitNulls({ event_time: timestamp(atMs), node, zone, kind, detail });
}
