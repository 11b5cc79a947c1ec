/** The traffic history of one host and of all hosts on the wire (docs/interface.md#other-resources). */
import { type Static, Type } from "@sinclair/typebox";
import { errorOfHighest } from "../../../detection/certainty/sampling.ts";
import type { IpAddress } from "../../../net/address.ts";
import { closedObject, oneOf } from "../../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../../schema/timestamp.ts";
import { type Direction, round } from "../../../traffic/rates.ts";
import type { TotalProtocol, TrafficPoint } from "../../../traffic/traffic-history.ts";
import { omitNulls } from "../omit-nulls.ts";

const RATE_FIELDS = {
  /** How much time of the bucket was measured. */
  seconds: Type.Number(),
  /** Means over that time. */
  pps: Type.Number(),
  mbps: Type.Number(),
  flows_per_sec: Type.Number(),
  /** The highest of all ticks, over the detection window. */
  max_pps: Type.Number(),
  max_mbps: Type.Number(),
  max_flows_per_sec: Type.Number(),
  /** Errors of the highest rates, fractions of them; absent where all three are exact, 0 where one is. */
  max_sampling_error: Type.Optional(
    closedObject({ pps: Type.Number(), mbps: Type.Number(), flows_per_sec: Type.Number() }),
  ),
};

export const TrafficPointWire = closedObject({
  /** Start of the bucket. */
  ts: Timestamp,
  ...RATE_FIELDS,
  in_attack: Type.Boolean(),
  baseline_pps: Type.Optional(Type.Number()),
});
export type TrafficPointWire = Static<typeof TrafficPointWire>;

/** With storage off there are only `available` and `points`. */
export const TrafficWire = closedObject({
  available: Type.Boolean(),
  /** These three repeat the query, with the effective step. */
  key: Type.Optional(Type.String()),
  direction: Type.Optional(oneOf("incoming", "outgoing")),
  step_seconds: Type.Optional(Type.Integer()),
  points: Type.Array(TrafficPointWire),
});
export type TrafficWire = Static<typeof TrafficWire>;

interface TrafficView {
  readonly key: IpAddress;
  readonly direction: Direction;
  readonly stepSeconds: number;
  readonly points: readonly TrafficPoint[];
}

export function trafficToWire({ key, direction, stepSeconds, points }: TrafficView): TrafficWire {
  return { available: true, key, direction, step_seconds: stepSeconds, points: points.map(pointToWire) };
}

function ratesToWire(point: TrafficPoint): Static<typeof TotalPointWire> {
  return {
    ts: timestamp(point.atSeconds * 1000),
    seconds: round(point.seconds),
    pps: round(point.pps),
    mbps: round(point.mbps),
    flows_per_sec: round(point.flowsPerSec),
    max_pps: round(point.maxPps),
    max_mbps: round(point.maxMbps),
    max_flows_per_sec: round(point.maxFlowsPerSec),
    ...errorsToWire(point),
  };
}

function errorsToWire(point: TrafficPoint): Pick<TrafficPointWire, "max_sampling_error"> {
  const { seconds, maxPps, maxMbps, maxFlowsPerSec } = point;
  const pps = errorOfHighest({ rate: maxPps, deviation: point.deviationPps, seconds });
  const mbps = errorOfHighest({ rate: maxMbps, deviation: point.deviationMbps, seconds });
  const flows = errorOfHighest({ rate: maxFlowsPerSec, deviation: point.deviationFlowsPerSec, seconds });
  if (pps === null && mbps === null && flows === null) return {};
  return { max_sampling_error: { pps: round(pps ?? 0), mbps: round(mbps ?? 0), flows_per_sec: round(flows ?? 0) } };
}

function pointToWire(point: TrafficPoint): TrafficPointWire {
  return omitNulls({
    ...ratesToWire(point),
    in_attack: point.inAttack,
    baseline_pps: point.baselinePps === null ? null : round(point.baselinePps),
  });
}

const protocolRates = closedObject({ pps: Type.Number(), mbps: Type.Number() });

const TotalPointWire = closedObject({
  /** Start of the bucket. */
  ts: Timestamp,
  ...RATE_FIELDS,
});

/** A point of the total, with the means of its protocols; the rest is of others. */
export const TotalTrafficPointWire = closedObject({
  ...TotalPointWire.properties,
  udp: protocolRates,
  tcp: protocolRates,
  icmp: protocolRates,
});
export type TotalTrafficPointWire = Static<typeof TotalTrafficPointWire>;

/** With storage off there are only `available` and `points`. */
export const TotalTrafficWire = closedObject({
  available: Type.Boolean(),
  direction: Type.Optional(oneOf("incoming", "outgoing")),
  step_seconds: Type.Optional(Type.Integer()),
  points: Type.Array(TotalTrafficPointWire),
});
export type TotalTrafficWire = Static<typeof TotalTrafficWire>;

interface TotalTrafficView extends Omit<TrafficView, "key"> {
  readonly protocols: Readonly<Record<TotalProtocol, readonly TrafficPoint[]>>;
}

export function totalTrafficToWire({ direction, stepSeconds, points, protocols }: TotalTrafficView): TotalTrafficWire {
  const at = (protocol: TotalProtocol) => new Map(protocols[protocol].map((point) => [point.atSeconds, point]));
  const [udp, tcp, icmp] = [at("udp"), at("tcp"), at("icmp")];
  const part = (point: TrafficPoint | undefined) => ({ pps: round(point?.pps ?? 0), mbps: round(point?.mbps ?? 0) });
  return {
    available: true,
    direction,
    step_seconds: stepSeconds,
    points: points.map((point) => ({
      ...ratesToWire(point),
      udp: part(udp.get(point.atSeconds)),
      tcp: part(tcp.get(point.atSeconds)),
      icmp: part(icmp.get(point.atSeconds)),
    })),
  };
}
