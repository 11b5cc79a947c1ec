/** Joins what the store has of a series with what it does not have yet. */
import { addressToBytes, parseAddress } from "../net/address.ts";
import type { Direction } from "./rates.ts";
import {
  bucketOf,
  rowValues,
  type TrafficPoint,
  type TrafficQuery,
  type TrafficSnapshot,
  type TrafficValues,
} from "./traffic-history.ts";

/** One series in one interval. */
export interface RecentPart {
  readonly atSeconds: number;
  readonly seconds: number;
  /** null: it had no traffic. */
  readonly row: { readonly values: TrafficValues; readonly inAttack: boolean } | null;
}

export function rowIn(snapshot: TrafficSnapshot, key: string, direction: Direction): RecentPart {
  const { atSeconds, seconds, totals, inAttack } = snapshot;
  const isOutgoing = direction === "outgoing";
  const total = totals.find(({ series, outgoing }) => series === key && outgoing === isOutgoing);
  if (total !== undefined) return { atSeconds, seconds, row: { values: total.values, inAttack: false } };
  const row = hostRow(snapshot, key, isOutgoing ? 1 : 0);
  if (row < 0) return { atSeconds, seconds, row: null };
  return { atSeconds, seconds, row: { values: rowValues(snapshot, row), inAttack: inAttack[row] === 1 } };
}

/** -1: there is none. */
function hostRow({ count, addresses, outgoing }: TrafficSnapshot, key: string, direction: number): number {
  const address = parseAddress(key);
  if (address === null) return -1;
  const bytes = Buffer.from(addressToBytes(address));
  const all = Buffer.from(addresses.buffer, addresses.byteOffset, count * 16);
  for (let at = all.indexOf(bytes); at >= 0; at = all.indexOf(bytes, at + 1)) {
    if (at % 16 === 0 && outgoing[at / 16] === direction) return at / 16;
  }
  return -1;
}

/** The query for the store: what is older than the first of the parts. null: nothing of the range is. */
export function storedQuery(query: TrafficQuery, parts: readonly RecentPart[]): TrafficQuery | null {
  const toMs = Math.min(query.toMs, (parts[0]?.atSeconds ?? Number.POSITIVE_INFINITY) * 1000);
  return toMs > query.fromMs ? { ...query, toMs } : null;
}

/** Appends the parts that begin in the range to the points of storedQuery(). */
export function joined(
  stored: readonly TrafficPoint[],
  parts: readonly RecentPart[],
  { fromMs, toMs, stepSeconds }: TrafficQuery,
): TrafficPoint[] {
  const points = new Map(stored.map((point) => [point.atSeconds, point]));
  const inRange = parts.filter(({ atSeconds: at }) => at * 1000 >= fromMs && at * 1000 < toMs);
  for (const [atSeconds, own] of Map.groupBy(inRange, (part) => bucketOf(part.atSeconds, stepSeconds))) {
    if (!points.has(atSeconds) && own.every(({ row }) => row === null)) continue;
    const all = [
      ...own.map((part) => pointOf(part, atSeconds)),
      ...(points.has(atSeconds) ? [points.get(atSeconds) as TrafficPoint] : []),
    ];
    points.set(atSeconds, all.reduce(merged));
  }
  return [...points.values()].sort((a, b) => a.atSeconds - b.atSeconds);
}

const SILENCE: TrafficValues = [0, 0, 0, Number.NaN, 0, 0, 0, 0, 0, 0];

function pointOf({ seconds, row }: RecentPart, atSeconds: number): TrafficPoint {
  const [pps, mbps, flowsPerSec, baseline, maxPps, maxMbps, maxFlowsPerSec, ...deviations] = row?.values ?? SILENCE;
  const [deviationPps, deviationMbps, deviationFlowsPerSec] = deviations;
  return {
    ...{ atSeconds, seconds, pps, mbps, flowsPerSec, maxPps, maxMbps, maxFlowsPerSec },
    ...{ deviationPps, deviationMbps, deviationFlowsPerSec },
    inAttack: row?.inAttack ?? false,
    baselinePps: Number.isNaN(baseline) ? null : baseline,
  };
}

/** Means weighed by time, the highest of the highest, and the largest of their deviations. */
function merged(a: TrafficPoint, b: TrafficPoint): TrafficPoint {
  const seconds = a.seconds + b.seconds;
  const mean = (x: number, y: number) => (x * a.seconds + y * b.seconds) / seconds;
  return {
    atSeconds: a.atSeconds,
    seconds,
    pps: mean(a.pps, b.pps),
    mbps: mean(a.mbps, b.mbps),
    flowsPerSec: mean(a.flowsPerSec, b.flowsPerSec),
    maxPps: Math.max(a.maxPps, b.maxPps),
    maxMbps: Math.max(a.maxMbps, b.maxMbps),
    maxFlowsPerSec: Math.max(a.maxFlowsPerSec, b.maxFlowsPerSec),
    deviationPps: Math.max(a.deviationPps, b.deviationPps),
    deviationMbps: Math.max(a.deviationMbps, b.deviationMbps),
    deviationFlowsPerSec: Math.max(a.deviationFlowsPerSec, b.deviationFlowsPerSec),
    inAttack: a.inAttack || b.inAttack,
    baselinePps: a.baselinePps ?? b.baselinePps,
  };
}
