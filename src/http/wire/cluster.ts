/** The cluster on the wire. */
import { type Static, Type } from "@sinclair/typebox";
import { type BrainView, CLUSTER_FAULTS, type ClusterReport, LACKS } from "../../cluster/cluster-view.ts";
import { Count, closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { omitNulls } from "./omit-nulls.ts";

const BrainWire = closedObject({
  name: Type.String(),
  state: oneOf("up", "down"),
  since: Timestamp,
  /** Absent: none has arrived since the start. */
  silent_seconds: Type.Optional(Type.Number({ minimum: 0 })),
  /** Absent: not measured yet. Positive: its clock is ahead. */
  skew_ms: Type.Optional(Type.Integer()),
  /** Absent as `silent_seconds`. */
  version: Type.Optional(Type.String()),
  unconfirmed_orders: Count,
  unconfirmed_seconds: Type.Number({ minimum: 0 }),
  /** Absent as `silent_seconds`. */
  differs: Type.Optional(Type.Array(Type.String())),
  problem: Type.Optional(Type.String()),
});

const FaultWire = closedObject({
  kind: Type.Union(CLUSTER_FAULTS.map((kind) => Type.Literal(kind))),
  brain: Type.String(),
  found: Type.String(),
  remedy: Type.String(),
});

const WaitingWire = closedObject({ table: Type.String(), key: Type.String(), brain: Type.String(), since: Timestamp });

export const ClusterWire = closedObject({
  /** All else is absent if false. */
  enabled: Type.Boolean(),
  name: Type.Optional(Type.String()),
  /** Whether this brain does what one of them does. */
  leading: Type.Optional(Type.Boolean()),
  brains: Type.Optional(Type.Array(BrainWire)),
  orders: Type.Optional(closedObject({ in_force: Count, waiting: Count, ended: Count })),
  waiting: Type.Optional(Type.Array(WaitingWire)),
  lacks: Type.Optional(Type.Array(Type.Union(LACKS.map((lack) => Type.Literal(lack))))),
  /** Absent: the certificate cannot be read. */
  certificate_until: Type.Optional(Timestamp),
  faults: Type.Optional(Type.Array(FaultWire)),
});
export type ClusterWire = Static<typeof ClusterWire>;
export type BrainWire = Static<typeof BrainWire>;

/** @param report null: there is no cluster. */
export function clusterToWire(report: ClusterReport | null): ClusterWire {
  if (report === null) return { enabled: false };
  const { name, isLeading, brains, orders, waiting, lacks, certificateUntilMs, faults } = report;
  return omitNulls({
    enabled: true,
    name,
    leading: isLeading,
    brains: brains.map(brainToWire),
    orders: { ...orders },
    waiting: waiting.map(({ table, key, brain, sinceMs }) => ({ table, key, brain, since: timestamp(sinceMs) })),
    lacks: [...lacks],
    certificate_until: certificateUntilMs === null ? null : timestamp(certificateUntilMs),
    faults: faults.map(({ kind, brain, found, remedy }) => ({ kind, brain, found, remedy })),
  });
}

function brainToWire(brain: BrainView): BrainWire {
  const { name, isUp, sinceMs, silentMs, skewMs, version, unconfirmed, differs, problem } = brain;
  return omitNulls({
    name,
    state: isUp ? ("up" as const) : ("down" as const),
    since: timestamp(sinceMs),
    silent_seconds: silentMs === null ? null : Math.round(silentMs / 100) / 10,
    skew_ms: skewMs === null ? null : Math.round(skewMs),
    version,
    unconfirmed_orders: unconfirmed.orders,
    unconfirmed_seconds: Math.round(unconfirmed.oldestMs / 100) / 10,
    differs: differs === null ? null : [...differs],
    problem,
  });
}
