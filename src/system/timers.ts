/** The only place that asks the event loop to call back later. */

/** Stops what was asked for. Twice is fine, and so is after it ran. */
export type Cancel = () => void;

export interface Timers {
  /** Runs `fn` once, `ms` from now: 0 to MAX_DELAY_MS. */
  after(ms: number, fn: () => void): Cancel;
  /** Runs `fn` every `ms`: 1 to MAX_DELAY_MS. A late run is not made up for. */
  every(ms: number, fn: () => void): Cancel;
}

/** The event loop keeps delays in 31 bits and runs anything longer at once. */
export const MAX_DELAY_MS = 2 ** 31 - 1;

export const systemTimers: Timers = {
  after(ms, fn) {
    const timer = setTimeout(fn, checkedDelay(ms, 0));
    return () => clearTimeout(timer);
  },
  every(ms, fn) {
    const timer = setInterval(fn, checkedDelay(ms, 1));
    return () => clearInterval(timer);
  },
};

/** Lets waiting I/O and timers run before the caller goes on: for long work that is done in slices. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function checkedDelay(ms: number, least: number): number {
  if (ms >= least && ms <= MAX_DELAY_MS) return ms;
  throw new RangeError(`a delay is ${least} to ${MAX_DELAY_MS} ms, not ${ms}`);
}
