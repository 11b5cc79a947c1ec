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
  /** METRICS.length values per row, each per second over the window. */
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

/** The last four bytes of the address, for a quick pre-check. */
export function addressTail(addresses: Uint8Array, row: number): number {
  const at = row * 16 + 12;
  const high = ((addresses[at] as number) << 8) | (addresses[at + 1] as number);
  const low = ((addresses[at + 2] as number) << 8) | (addresses[at + 3] as number);
  return high * 0x1_0000 + low;
}

/** Returns a copy, since the next tick overwrites the columns. */
export function rowRates(column: Float64Array, row: number): number[] {
  const start = row * METRICS.length;
  return Array.from(column.subarray(start, start + METRICS.length));
}
