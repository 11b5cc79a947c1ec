/** The wait before the next attempt: doubled after each consecutive failure, up to a bound. */

export interface RetryTimes {
  /** The wait after the first failure. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}

export class Backoff {
  readonly #times: RetryTimes;
  readonly #spread: () => number;
  #nextMs: number;

  /** @param spread a random factor on each wait, so that clients that failed together do not retry together. */
  constructor(times: RetryTimes, spread: () => number = () => 1) {
    this.#times = times;
    this.#spread = spread;
    this.#nextMs = times.retryMinMs;
  }

  /** Call this after a failure. */
  next(): number {
    const ms = this.#nextMs * this.#spread();
    this.#nextMs = Math.min(this.#times.retryMaxMs, 2 * this.#nextMs);
    return ms;
  }

  /** Call this after a success. */
  reset(): void {
    this.#nextMs = this.#times.retryMinMs;
  }
}
