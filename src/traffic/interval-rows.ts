/**
 * Counts of hosts since they were last taken, in columns as the packet counter returns them: the exact sums, and
 * the highest rate that any tick found.
 */

/** The caller owns the arrays; the addon fills them. */
export interface IntervalRows {
  /** Maximum number of rows. */
  readonly capacity: number;
  /** 16 bytes per row, IPv4 in its mapped form. */
  readonly addresses: Uint8Array;
  /** Index of the hostgroup in the configuration. */
  readonly groups: Uint32Array;
  /**
   * INTERVAL_VALUES per row: packets, 10^6 bits and new flows; then the highest pps, mbps and flows_per_sec, each over
   * the detection window; then the standard deviation of each of the highest, 0 where it is exact.
   */
  readonly incoming: Float64Array;
  readonly outgoing: Float64Array;
}

export const INTERVAL_VALUES = 9;

export function allocateIntervalRows(capacity: number): IntervalRows {
  return {
    capacity,
    addresses: new Uint8Array(capacity * 16),
    groups: new Uint32Array(capacity),
    incoming: new Float64Array(capacity * INTERVAL_VALUES),
    outgoing: new Float64Array(capacity * INTERVAL_VALUES),
  };
}
