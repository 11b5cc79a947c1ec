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
import { Timestamp, timestamp } from "../../../schema/timestamp.ts";
import { round } from "../../../traffic/rates.ts";
import { closed } from "../closed.ts";
import { omitNulls } from "../omit-nulls.ts";
import { oneOf } from "../one-of.ts";

const total = Type.Integer({ minimum: 0 });

export const ReportedStateWire = oneOf(...REPORTED_STATES);
export const EdgeEventKindWire = oneOf(...EDGE_EVENT_KINDS);

const EdgePointWire = Type.Object(
  {
    /** Start of the bucket. */
    ts: Timestamp,
    /** Distinct nodes that reported in the bucket. */
    nodes: total,
    /** The longest observation time of one node: requests / window_seconds is the rate of all nodes. */
    window_seconds: Type.Number(),
    ...(Object.fromEntries(EDGE_COUNTERS.map((name) => [name, total])) as Record<keyof EdgeCounts, typeof total>),
  },
  closed,
);

/** With storage off there are only `available` and `points`. */
export const EdgeHistoryWire = Type.Object(
  {
    available: Type.Boolean(),
    zone: Type.Optional(Type.String()),
    node: Type.Optional(Type.String()),
    step_seconds: Type.Optional(Type.Integer()),
    points: Type.Array(EdgePointWire),
  },
  closed,
);
export type EdgeHistoryWire = Static<typeof EdgeHistoryWire>;

const EdgeSourceWire = Type.Object(
  {
    source: Type.String(),
    /** The strongest in the range. */
    state: ReportedStateWire,
    requests: total,
    windows: total,
    nodes: total,
    first_seen: Timestamp,
    last_seen: Timestamp,
  },
  closed,
);

export const EdgeSourcesWire = Type.Object(
  {
    available: Type.Boolean(),
    zone: Type.String(),
    state: Type.Optional(ReportedStateWire),
    sources: Type.Array(EdgeSourceWire),
  },
  closed,
);

const EdgeEventWire = Type.Object(
  {
    event_time: Timestamp,
    node: Type.String(),
    /** Absent: the event is about the node as a whole. */
    zone: Type.Optional(Type.String()),
    kind: EdgeEventKindWire,
    detail: Type.String(),
  },
  closed,
);

export const EdgeEventsWire = Type.Object({ available: Type.Boolean(), events: Type.Array(EdgeEventWire) }, closed);

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
