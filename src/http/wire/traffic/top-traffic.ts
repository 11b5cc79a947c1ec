/** The largest parts of the incoming traffic on the wire (docs/interface.md#other-resources). */
import { type Static, Type } from "@sinclair/typebox";
import { closedObject, oneOf } from "../../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../../schema/timestamp.ts";
import { round } from "../../../traffic/rates.ts";
import type { TrafficPoint } from "../../../traffic/traffic-history.ts";
import { PART_KINDS, type PartKind, type TopPart } from "../../../traffic/traffic-parts.ts";

const RATES = { pps: Type.Number(), mbps: Type.Number() };

/** With storage off there are only `available` and `parts`. */
export const TopTrafficWire = closedObject({
  available: Type.Boolean(),
  by: Type.Optional(oneOf(...PART_KINDS)),
  /** Means of all incoming traffic over the recorded time of the range; the parts are of it. */
  total: Type.Optional(closedObject(RATES)),
  parts: Type.Array(closedObject({ key: Type.String(), ...RATES })),
  /** Why there are no parts, where the configuration is the reason. */
  reason: Type.Optional(Type.String()),
});
export type TopTrafficWire = Static<typeof TopTrafficWire>;

export function topTrafficToWire(
  by: PartKind,
  parts: readonly TopPart[],
  totals: readonly TrafficPoint[],
  reason: string | null = null,
): TopTrafficWire {
  const seconds = totals.reduce((sum, point) => sum + point.seconds, 0) || 1;
  const mean = (of: (point: TrafficPoint) => number) =>
    round(totals.reduce((sum, point) => sum + of(point) * point.seconds, 0) / seconds);
  return {
    available: true,
    by,
    total: { pps: mean(({ pps }) => pps), mbps: mean(({ mbps }) => mbps) },
    parts: parts.map(({ key, pps, mbps }) => ({ key, pps: round(pps), mbps: round(mbps) })),
    ...(reason !== null && parts.length === 0 && { reason }),
  };
}

/** With storage off there are only `available` and `points`. */
export const PartTrafficWire = closedObject({
  available: Type.Boolean(),
  /** These three repeat the query, with the effective step. */
  by: Type.Optional(oneOf(...PART_KINDS)),
  key: Type.Optional(Type.String()),
  step_seconds: Type.Optional(Type.Integer()),
  points: Type.Array(
    closedObject({
      /** Start of the bucket. */
      ts: Timestamp,
      /** How much time of the bucket was measured. */
      seconds: Type.Number(),
      /** Means over that time. */
      ...RATES,
    }),
  ),
});
export type PartTrafficWire = Static<typeof PartTrafficWire>;

interface PartTrafficView {
  readonly by: PartKind;
  readonly key: string;
  readonly stepSeconds: number;
  readonly points: readonly TrafficPoint[];
}

export function partTrafficToWire({ by, key, stepSeconds, points }: PartTrafficView): PartTrafficWire {
  return {
    available: true,
    by,
    key,
    step_seconds: stepSeconds,
    points: points.map(({ atSeconds, seconds, pps, mbps }) => ({
      ts: timestamp(atSeconds * 1000),
      seconds: round(seconds),
      pps: round(pps),
      mbps: round(mbps),
    })),
  };
}
