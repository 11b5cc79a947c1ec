/** How long to wait before the next try: twice as long after each failure in a row, up to a bound. */

export interface RetryTimes {
  /** After the first failure. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}

export class Backoff {
  readonly #times: RetryTimes;
  readonly #spread: () => number;
  #nextMs: number;

  /** @param spread a factor on each wait, so that those who failed together do not all try again together. */
  constructor(times: RetryTimes, spread: () => number = () => 1) {
    this.#times = times;
    this.#spread = spread;
    this.#nextMs = times.retryMinMs;
  }

  /** After a failure. */
  next(): number {
    const ms = this.#nextMs * this.#spread();
    this.#nextMs = Math.min(this.#times.retryMaxMs, 2 * this.#nextMs);
    return ms;
  }

  /** After a success. */
  reset(): void {
    this.#nextMs = this.#times.retryMinMs;
  }
}
