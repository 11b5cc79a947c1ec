/** Counts of watched hosts by fold in columns, as the packet counter returns them. */
import { ROW_WEIGHTS } from "./host-rows.ts";
import { METRICS } from "./rates.ts";

/** The caller owns the arrays; the addon fills them. */
export interface CountRows {
  /** Maximum number of rows. */
  readonly capacity: number;
  /** 16 bytes per row, IPv4 in its mapped form. */
  readonly addresses: Uint8Array;
  /** From the end of the row's span to the last fold, ms. */
  readonly agesMs: Float64Array;
  readonly spansMs: Float64Array;
  /** 1: a time before the window that the detection looks at, 0: in it. */
  readonly isBefore: Uint8Array;
  /** METRICS.length values per row: packets, megabits and new flows in the span. */
  readonly incoming: Float64Array;
  readonly outgoing: Float64Array;
  /**
   * As of HostRows: the variance of the counts divided by them. Those of folds before the host was watched, and of a time
   * before the window, are that of the window in which the watching began.
   */
  readonly weights: Float64Array;
}

export function allocateCountRows(capacity: number): CountRows {
  return {
    capacity,
    addresses: new Uint8Array(capacity * 16),
    agesMs: new Float64Array(capacity),
    spansMs: new Float64Array(capacity),
    isBefore: new Uint8Array(capacity),
    incoming: new Float64Array(capacity * METRICS.length),
    outgoing: new Float64Array(capacity * METRICS.length),
    weights: new Float64Array(capacity * ROW_WEIGHTS.length),
  };
}
