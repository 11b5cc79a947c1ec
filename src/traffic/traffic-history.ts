/**
 * The rates of hosts over time: the snapshot of each interval, and the answer for one host (docs/interface.md#traffic).
 * The storage decides where they are kept.
 */
import type { IpAddress } from "../net/address.ts";
import type { Direction } from "./rates.ts";

/** The hosts with traffic at one moment, in columns. A host without a row had no traffic. */
export interface TrafficSnapshot {
  /** Wall clock. */
  readonly atSeconds: number;
  /** The time that it represents: since the last snapshot. */
  readonly seconds: number;
  /** Rows; a host with traffic in both directions has two. */
  readonly count: number;
  /** 16 bytes per row, IPv4 in its mapped form. */
  readonly addresses: Uint8Array;
  /** 1: outgoing. */
  readonly outgoing: Uint8Array;
  /** 1: in attack. */
  readonly inAttack: Uint8Array;
  /** TRAFFIC_VALUES per row: pps, mbps, flows_per_sec, and the learned pps, NaN if none. */
  readonly values: Float64Array;
}

export const TRAFFIC_VALUES = 4;

export interface TrafficQuery {
  readonly key: IpAddress;
  readonly direction: Direction;
  /** Wall clock, ms. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Buckets start at multiples of it since the epoch. */
  readonly stepSeconds: number;
}

/**
 * The mean over all snapshots of a bucket; the host counts as silent in snapshots without it. A bucket in which the
 * host never occurs has no point.
 */
export interface TrafficPoint {
  /** Start of the bucket, seconds since the epoch. */
  readonly atSeconds: number;
  readonly pps: number;
  readonly mbps: number;
  readonly flowsPerSec: number;
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
