/**
 * How long to wait before the next try: 1 s, then twice as long each time, up to 30 s
 * (docs/interface.md#long-poll-caps).
 */

const FIRST_MS = 1000;
const LONGEST_MS = 30_000;

export class Backoff {
  readonly #random: () => number;
  #nextMs = FIRST_MS;

  /** @param random 0 to 1: a tenth more or less, so that a fleet spreads after its controller was away. */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** After a failure. */
  next(): number {
    const ms = this.#nextMs * (0.9 + 0.2 * this.#random());
    this.#nextMs = Math.min(LONGEST_MS, 2 * this.#nextMs);
    return ms;
  }

  /** After a success. */
  reset(): void {
    this.#nextMs = FIRST_MS;
  }
}
