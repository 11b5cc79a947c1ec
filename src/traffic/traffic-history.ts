/**
 * The rates of hosts over time: the snapshot of each interval, and the answer for one series (docs/interface.md#traffic).
 * The storage decides where they are kept.
 */
import type { Direction } from "./rates.ts";

/** The hosts with traffic in one interval, in columns. A host without a row had no traffic. */
export interface TrafficSnapshot {
  /** When the interval began, wall clock. */
  readonly atSeconds: number;
  /** How long it was. */
  readonly seconds: number;
  /** Rows; a host with traffic in both directions has two. */
  readonly count: number;
  /** 16 bytes per row, IPv4 in its mapped form. */
  readonly addresses: Uint8Array;
  /** 1: outgoing. */
  readonly outgoing: Uint8Array;
  /** 1: in attack at some time of the interval. */
  readonly inAttack: Uint8Array;
  /** TRAFFIC_VALUES per row, in the order of TrafficValues. */
  readonly values: Float64Array;
  /** Sums over many hosts. */
  readonly totals: readonly TotalRow[];
}

/**
 * Rates of one interval: means, the learned pps (NaN: none), the highest of all ticks, and of each of the highest the
 * standard deviation that sampling gives it; 0: it is exact.
 */
export type TrafficValues = readonly [
  pps: number,
  mbps: number,
  flowsPerSec: number,
  baselinePps: number,
  maxPps: number,
  maxMbps: number,
  maxFlowsPerSec: number,
  deviationPps: number,
  deviationMbps: number,
  deviationFlowsPerSec: number,
];
export const TRAFFIC_VALUES = 10;

export interface TotalRow {
  /** See totalSeries(). */
  readonly series: string;
  readonly outgoing: boolean;
  readonly values: TrafficValues;
}

/** The protocols whose share of a total is kept. */
export const TOTAL_PROTOCOLS = ["udp", "tcp", "icmp"] as const;
export type TotalProtocol = (typeof TOTAL_PROTOCOLS)[number];

/** The hosts that are added up: all, those of a tenant, or those of a hostgroup. */
export type TotalScope =
  | { readonly kind: "all" }
  | { readonly kind: "tenant"; readonly name: string }
  | { readonly kind: "hostgroup"; readonly name: string };

/** The name of a sum. No address has such a name, and no two sums have the same. */
export function totalSeries(scope: TotalScope, protocol: TotalProtocol | null = null): string {
  const part = protocol === null ? "" : ` ${protocol}`;
  if (scope.kind === "hostgroup") return `hostgroup${part}: ${scope.name}`;
  return `total${part}${scope.kind === "tenant" ? ` of ${scope.name}` : ""}`;
}

export interface TrafficQuery {
  /** The address of a host, or a totalSeries(). */
  readonly key: string;
  readonly direction: Direction;
  /** Wall clock, ms. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Buckets start at multiples of it since the epoch. */
  readonly stepSeconds: number;
}

/** All snapshots that begin in a bucket. A bucket in which the host never occurs has no point. */
export interface TrafficPoint {
  /** Start of the bucket, seconds since the epoch. */
  readonly atSeconds: number;
  /** How much time the snapshots cover: the means times it are what was counted. */
  readonly seconds: number;
  /** Means over that time; the host counts as silent in snapshots without it. */
  readonly pps: number;
  readonly mbps: number;
  readonly flowsPerSec: number;
  /** The highest rate of all ticks. */
  readonly maxPps: number;
  readonly maxMbps: number;
  readonly maxFlowsPerSec: number;
  /** Standard deviations of these three, at least; 0: it is exact. */
  readonly deviationPps: number;
  readonly deviationMbps: number;
  readonly deviationFlowsPerSec: number;
  /** Whether the host was attacked at any moment of the bucket. */
  readonly inAttack: boolean;
  /** null: nothing was learned. */
  readonly baselinePps: number | null;
}

export function bucketOf(seconds: number, stepSeconds: number): number {
  return Math.floor(seconds / stepSeconds) * stepSeconds;
}

/** An empty snapshot with room for `rows`. */
export function allocateSnapshot(
  rows: number,
): Pick<TrafficSnapshot, "addresses" | "outgoing" | "inAttack" | "values"> {
  return {
    addresses: new Uint8Array(rows * 16),
    outgoing: new Uint8Array(rows),
    inAttack: new Uint8Array(rows),
    values: new Float64Array(rows * TRAFFIC_VALUES),
  };
}

/** The values of a row. */
export function rowValues({ values }: Pick<TrafficSnapshot, "values">, row: number): TrafficValues {
  const start = row * TRAFFIC_VALUES;
  return [...values.subarray(start, start + TRAFFIC_VALUES)] as unknown as TrafficValues;
}
