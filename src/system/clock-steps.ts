/** Detects steps of the wall clock by comparison with the monotonic clock. */
import type { Clock } from "./clock.ts";

/** A smaller difference is slewing; it accumulates until it is a step. */
const STEP_MS = 1000;

export class ClockSteps {
  readonly #clock: Clock;
  #offsetMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offsetMs = clock.wallMs() - clock.monotonicMs();
  }

  /** By how much the wall clock was set since the last reported step, ms; 0: not set. Negative: back. */
  take(): number {
    const offsetMs = this.#clock.wallMs() - this.#clock.monotonicMs();
    const step = offsetMs - this.#offsetMs;
    if (Math.abs(step) < STEP_MS) return 0;
    this.#offsetMs = offsetMs;
    return step;
  }
}
