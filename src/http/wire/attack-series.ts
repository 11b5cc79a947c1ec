/** The traffic of one attack over time, and its timeline (docs/interface.md#attack-course). */
import { type Static, Type } from "@sinclair/typebox";
import type { Attack } from "../../detection/attack/attack.ts";
import type { SeriesPoint } from "../../detection/attack/attack-series.ts";
import { perSecond, plus } from "../../detection/attack/attack-volume.ts";
import { TIMELINE_KINDS, type TimelineEntry } from "../../detection/attack/timeline.ts";
import { errorOfHighest } from "../../detection/certainty/sampling.ts";
import { closedObject, oneOf, Rate } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { round } from "../../traffic/rates.ts";
import type { AttackSeriesView } from "../backend.ts";
import { omitNulls } from "./omit-nulls.ts";

const PointWire = closedObject({
  at: Timestamp,
  seconds: Rate,
  rate: Rate,
  rate_max: Rate,
  pps: Rate,
  pps_max: Rate,
  mbps: Rate,
  mbps_max: Rate,
  /** Error of the highest rates, a fraction of them; absent where they are exact. */
  max_sampling_error: Type.Optional(Rate),
  /** Absent where nothing is known, like the next three. */
  dropped_pps: Type.Optional(Rate),
  dropped_mbps: Type.Optional(Rate),
  passed_pps: Type.Optional(Rate),
  passed_mbps: Type.Optional(Rate),
});

export const SeriesWire = closedObject({
  /** False: the service does not have the series of this attack any more. */
  available: Type.Boolean(),
  id: Type.String(),
  metric: Type.String(),
  threshold: Type.Number(),
  /** Absent if the attack was not above a learned limit. */
  baseline: Type.Optional(Type.Number()),
  started_at: Timestamp,
  ended_at: Type.Optional(Timestamp),
  points: Type.Array(PointWire),
});

export const TimelineWire = closedObject({
  id: Type.String(),
  entries: Type.Array(
    closedObject({
      at: Timestamp,
      kind: oneOf(...TIMELINE_KINDS),
      /** Absent if the kind says it all. */
      text: Type.Optional(Type.String()),
      /** Present if `kind` is `announced`. */
      neighbor: Type.Optional(Type.String()),
    }),
  ),
});

export type SeriesWire = Static<typeof SeriesWire>;
export type TimelineWire = Static<typeof TimelineWire>;

export function seriesToWire({ attack, series }: AttackSeriesView): SeriesWire {
  return omitNulls({
    available: series !== null,
    id: attack.id,
    metric: attack.metric,
    threshold: attack.threshold,
    baseline: attack.reason.baseline === null ? null : round(attack.reason.baseline.normal),
    started_at: timestamp(attack.startedAt),
    ended_at: attack.endedAt === null ? null : timestamp(attack.endedAt),
    points: series === null ? [] : Array.from(steadyPoints(series.points(), attack.volume?.beganAt), pointToWire),
  });
}

/** A tenant does not see the neighbors. */
export function timelineToWire({ id, timeline }: Attack, tenant: string | null): TimelineWire {
  const shown = tenant === null ? timeline : withoutNeighbors(timeline);
  return {
    id,
    entries: shown.map(({ atMs, kind, text, neighbor }) =>
      omitNulls({ at: timestamp(atMs), kind, text: text === "" ? null : text, neighbor: neighbor ?? null }),
    ),
  };
}

/** One of the entries that differ by their neighbors alone stays. */
function withoutNeighbors(timeline: readonly TimelineEntry[]): readonly TimelineEntry[] {
  const announced = new Set<string>();
  return timeline.flatMap(({ neighbor, ...entry }) => {
    if (neighbor === undefined) return entry;
    if (announced.has(entry.text)) return [];
    announced.add(entry.text);
    return entry;
  });
}

/**
 * A tick that ran late leaves a part of its packets to the next one. Where the highest rate was measured over both, they
 * are one point: the rate of one alone would be above the highest.
 * @param beganAt the attack has points of its own from then on
 */
function* steadyPoints(points: Iterable<SeriesPoint>, beganAt = 0): Generator<SeriesPoint> {
  let last: SeriesPoint | null = null;
  for (const point of points) {
    const beginMs = point.endMs - point.spanMs;
    const isNext = last !== null && Math.abs(beginMs - last.endMs) < 1 && Math.abs(beginMs - beganAt) >= 1;
    if (last !== null && isNext && isUnsteady(point)) last = joined(last, point);
    else {
      if (last !== null) yield last;
      last = point;
    }
  }
  if (last !== null) yield last;
}

/** Rates of sampled traffic are measured over other times. */
function isUnsteady({ packets, bits, ofMetric, spanMs, ppsMax, bpsMax, metricMax, maxDeviation }: SeriesPoint) {
  const isAbove = (count: number, most: number) => perSecond(count, spanMs) > 1.001 * most;
  return maxDeviation === 0 && (isAbove(packets, ppsMax) || isAbove(bits, bpsMax) || isAbove(ofMetric, metricMax));
}

function joined(a: SeriesPoint, b: SeriesPoint): SeriesPoint {
  return {
    ...{ endMs: b.endMs, spanMs: a.spanMs + b.spanMs, ...plus(a, b), ofMetric: a.ofMetric + b.ofMetric },
    ...{ ppsMax: Math.max(a.ppsMax, b.ppsMax), bpsMax: Math.max(a.bpsMax, b.bpsMax) },
    ...{ metricMax: Math.max(a.metricMax, b.metricMax), maxDeviation: a.maxDeviation },
    dropped: a.dropped === null || b.dropped === null ? null : plus(a.dropped, b.dropped),
  };
}

function pointToWire(point: SeriesPoint): Static<typeof PointWire> {
  const { endMs, spanMs, packets, bits, ofMetric, ppsMax, bpsMax, metricMax, maxDeviation, dropped } = point;
  const error = errorOfHighest({ rate: 1, deviation: maxDeviation, seconds: spanMs / 1000 });
  const pps = (count: number) => round(perSecond(count, spanMs));
  const mbps = (count: number) => round(perSecond(count, spanMs) / 1e6);
  return omitNulls({
    at: timestamp(endMs - spanMs),
    // With three decimals, a point of a tick would be half a percent off, and so the sum of the points.
    seconds: Math.round(spanMs * 1000) / 1e6,
    rate: pps(ofMetric),
    rate_max: round(metricMax),
    pps: pps(packets),
    pps_max: round(ppsMax),
    mbps: mbps(bits),
    mbps_max: round(bpsMax / 1e6),
    max_sampling_error: error === null ? null : round(error),
    dropped_pps: dropped === null ? null : pps(dropped.packets),
    dropped_mbps: dropped === null ? null : mbps(dropped.bits),
    passed_pps: dropped === null ? null : Math.max(0, pps(packets - dropped.packets)),
    passed_mbps: dropped === null ? null : Math.max(0, mbps(bits - dropped.bits)),
  });
}
