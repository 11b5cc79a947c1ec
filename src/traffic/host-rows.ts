/** Rates of many hosts in columns, as the packet counter hands them over: one crossing a tick, no object a host. */
import { addressFromBytes, type IpAddress } from "../net/address.ts";
import { METRICS } from "./rates.ts";

export interface HostRows {
  /** Rows that fit. */
  readonly capacity: number;
  /** 16 bytes a row, IPv4 in its mapped form. */
  readonly addresses: Uint8Array;
  /** Index of the hostgroup and of the network in the configuration. */
  readonly groups: Uint32Array;
  readonly networks: Uint32Array;
  /** Milliseconds since the last packet. */
  readonly idleMs: Float64Array;
  /** METRICS.length values a row, per second over the window. */
  readonly incoming: Float64Array;
  readonly outgoing: Float64Array;
}

export function allocateHostRows(capacity: number): HostRows {
  return {
    capacity,
    addresses: new Uint8Array(capacity * 16),
    groups: new Uint32Array(capacity),
    networks: new Uint32Array(capacity),
    idleMs: new Float64Array(capacity),
    incoming: new Float64Array(capacity * METRICS.length),
    outgoing: new Float64Array(capacity * METRICS.length),
  };
}

export function rowAddress(rows: HostRows, row: number): IpAddress {
  return addressFromBytes(rows.addresses, row * 16);
}

/** A copy: the columns are overwritten by the next tick. */
export function rowRates(column: Float64Array, row: number): number[] {
  const start = row * METRICS.length;
  return Array.from(column.subarray(start, start + METRICS.length));
}
