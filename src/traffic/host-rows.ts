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
   * 4 values per row: what one sample of the window stands for, in incoming packets and bytes and in outgoing packets and
   * bytes. The variance of an estimate, as a count in the window, is the weight times the estimate. 0: it is exact.
   */
  readonly weights: Float64Array;
}

export const WEIGHTS_PER_ROW = 4;

export function allocateHostRows(capacity: number): HostRows {
  return {
    capacity,
    addresses: new Uint8Array(capacity * 16),
    groups: new Uint32Array(capacity),
    networks: new Uint32Array(capacity),
    idleMs: new Float64Array(capacity),
    incoming: new Float64Array(capacity * METRICS.length),
    outgoing: new Float64Array(capacity * METRICS.length),
    weights: new Float64Array(capacity * WEIGHTS_PER_ROW),
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
