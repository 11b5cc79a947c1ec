/**
 * The rates of hosts over time: what is kept of them at each interval, and what is told of one host
 * (docs/interface.md#traffic). Where they are kept is the storage's matter.
 */
import type { IpAddress } from "../net/address.ts";
import type { Direction } from "./rates.ts";

/** The hosts that had traffic at one moment, in columns. A host that is not in it had none. */
export interface TrafficSnapshot {
  /** Wall clock. */
  readonly atSeconds: number;
  /** The time that it stands for: from the snapshot before to this one. */
  readonly seconds: number;
  /** Rows; a host with traffic in both directions has two. */
  readonly count: number;
  /** 16 bytes a row, IPv4 in its mapped form. */
  readonly addresses: Uint8Array;
  /** 1: outgoing. */
  readonly outgoing: Uint8Array;
  /** 1: in attack. */
  readonly inAttack: Uint8Array;
  /** TRAFFIC_VALUES a row: pps, mbps, flows_per_sec, and the learned pps, NaN where there is none. */
  readonly values: Float64Array;
}

export const TRAFFIC_VALUES = 4;

export interface TrafficQuery {
  readonly key: IpAddress;
  readonly direction: Direction;
  /** Wall clock, ms. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Buckets begin at multiples of it since the epoch. */
  readonly stepSeconds: number;
}

/**
 * The mean of a bucket: over all snapshots in it, where the host counts as silent in those that it is not in. A bucket
 * without a trace of the host has no point.
 */
export interface TrafficPoint {
  /** Begin of the bucket, seconds since the epoch. */
  readonly atSeconds: number;
  readonly pps: number;
  readonly mbps: number;
  readonly flowsPerSec: number;
  /** At any moment of the bucket. */
  readonly inAttack: boolean;
  /** null: nothing was learned. */
  readonly baselinePps: number | null;
}

export function bucketOf(seconds: number, stepSeconds: number): number {
  return Math.floor(seconds / stepSeconds) * stepSeconds;
}

/** A snapshot with room for `rows`, to be filled. */
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
