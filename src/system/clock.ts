/** The two clocks. Wall time is for records, TTLs and the wire; monotonic time for windows, holds and rates. */

export interface Clock {
  /** Milliseconds since the epoch. Jumps when the machine's time is set. */
  wallMs(): number;
  /** Milliseconds since an arbitrary moment before the start of the process. Never goes back. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
