/**
 * Rates of many hosts in columns, as the packet counter returns them: one call across the addon boundary per tick, no
 * object per host.
 */
import { addressFromBytes, type IpAddress } from "../net/address.ts";
import { METRICS } from "./rates.ts";

/** The caller owns the arrays; the addon fills them. */
export interface HostRows {
  /** Maximum number of rows. */
  readonly capacity: number;
  /** 16 bytes per row, IPv4 in its mapped form. */
  readonly addresses: Uint8Array;
  /** Index of the hostgroup and of the network in the configuration. */
  readonly groups: Uint32Array;
  readonly networks: Uint32Array;
  /** Milliseconds since the last packet. */
  readonly idleMs: Float64Array;
  /** METRICS.length values per row, each per second over the window. Outgoing ones are written only where they are counted. */
  readonly incoming: Float64Array;
  readonly outgoing: Float64Array;
  /**
   * How exact the rates are: ROW_WEIGHTS.length values per row, the variance of an estimate over the window divided by the
   * estimate: incoming packets, incoming bytes, outgoing packets, outgoing bytes. 0: every packet was counted. Where one
   * packet in w is sampled, those of packets are w - 1, and those of bytes (w - 1) times the mean squared length of a
   * packet divided by its mean length; in a mix of traffic with several sampling rates, the mean over its estimate. The
   * variance of n counted packets is weight * n, and that of a rate over t seconds weight * rate / t.
   */
  readonly weights: Float64Array;
}

/** The columns of `weights`. */
export const ROW_WEIGHTS = ["packets", "bytes", "packetsOut", "bytesOut"] as const;

export function allocateHostRows(capacity: number): HostRows {
  return {
    capacity,
    addresses: new Uint8Array(capacity * 16),
    groups: new Uint32Array(capacity),
    networks: new Uint32Array(capacity),
    idleMs: new Float64Array(capacity),
    incoming: new Float64Array(capacity * METRICS.length),
    outgoing: new Float64Array(capacity * METRICS.length),
    weights: new Float64Array(capacity * ROW_WEIGHTS.length),
  };
}

export function rowAddress(rows: HostRows, row: number): IpAddress {
  return addressFromBytes(rows.addresses, row * 16);
}

/** Returns a copy, since the next tick overwrites the columns. */
export function rowRates(column: Float64Array, row: number): number[] {
  const start = row * METRICS.length;
  const rates = new Array<number>(METRICS.length);
  for (let i = 0; i < rates.length; i++) rates[i] = column[start + i] as number;
  return rates;
}
