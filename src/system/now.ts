/** The time as rules get it: both clocks at one moment. Reads no clock. */

export interface Now {
  /** Since the epoch. Jumps when the machine's time is set. */
  readonly wallMs: number;
  /** Since an arbitrary moment before the start of the process. Never goes back. */
  readonly monotonicMs: number;
}

export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;
