/** The traffic history of one host on the wire (docs/interface.md#other-resources). */
import { type Static, Type } from "@sinclair/typebox";
import type { IpAddress } from "../../../net/address.ts";
import { type Direction, round } from "../../../traffic/rates.ts";
import type { TrafficPoint } from "../../../traffic/traffic-history.ts";
import { closed } from "../closed.ts";
import { omitNulls } from "../omit-nulls.ts";
import { oneOf } from "../one-of.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

export const TrafficPointWire = Type.Object(
  {
    /** Start of the bucket. */
    ts: Timestamp,
    pps: Type.Number(),
    mbps: Type.Number(),
    flows_per_sec: Type.Number(),
    in_attack: Type.Boolean(),
    baseline_pps: Type.Optional(Type.Number()),
  },
  closed,
);
export type TrafficPointWire = Static<typeof TrafficPointWire>;

/** With storage off there are only `available` and `points`. */
export const TrafficWire = Type.Object(
  {
    available: Type.Boolean(),
    /** These three repeat the query, with the effective step. */
    key: Type.Optional(Type.String()),
    direction: Type.Optional(oneOf("incoming", "outgoing")),
    step_seconds: Type.Optional(Type.Integer()),
    points: Type.Array(TrafficPointWire),
  },
  closed,
);
export type TrafficWire = Static<typeof TrafficWire>;

export interface TrafficView {
  readonly key: IpAddress;
  readonly direction: Direction;
  readonly stepSeconds: number;
  readonly points: readonly TrafficPoint[];
}

export function trafficToWire({ key, direction, stepSeconds, points }: TrafficView): TrafficWire {
  return { available: true, key, direction, step_seconds: stepSeconds, points: points.map(pointToWire) };
}

function pointToWire(point: TrafficPoint): TrafficPointWire {
  return omitNulls({
    ts: timestamp(point.atSeconds * 1000),
    pps: round(point.pps),
    mbps: round(point.mbps),
    flows_per_sec: round(point.flowsPerSec),
    in_attack: point.inAttack,
    baseline_pps: point.baselinePps === null ? null : round(point.baselinePps),
  });
}
