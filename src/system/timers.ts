/** The only place that sets timers in the event loop. */

/** Cancels the timer. May be called twice, and after it ran. */
export type Cancel = () => void;

export interface Timers {
  /** Runs `fn` once in `ms`: 0 to MAX_DELAY_MS. */
  after(ms: number, fn: () => void): Cancel;
  /** Runs `fn` every `ms`: 1 to MAX_DELAY_MS. Missed runs are skipped. */
  every(ms: number, fn: () => void): Cancel;
}

/** The event loop stores delays in 31 bits and runs longer ones at once. */
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

/** Lets pending I/O and timers run before the caller continues: for long work in slices. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Runs `fn` in this turn of the event loop, after all that waits for promises that are settled. */
export function afterPromises(fn: () => void): void {
  // Ticks run before promises are followed, unless one of these asks for them.
  queueMicrotask(() => process.nextTick(fn));
}

export function checkedDelay(ms: number, least: number): number {
  if (ms >= least && ms <= MAX_DELAY_MS) return ms;
  throw new RangeError(`a delay is ${least} to ${MAX_DELAY_MS} ms, not ${ms}`);
}
