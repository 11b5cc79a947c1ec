/** Notices when the machine's wall clock was set, by holding it against the monotonic one. */
import type { Clock } from "./clock.ts";

/** Less than this is slewing, and adds up until it is a step. */
const STEP_MS = 1000;

export class ClockSteps {
  readonly #clock: Clock;
  #offsetMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offsetMs = clock.wallMs() - clock.monotonicMs();
  }

  /** By how much the wall clock was set since the last call that told of a step; 0: not. Negative is back. */
  take(): number {
    const offsetMs = this.#clock.wallMs() - this.#clock.monotonicMs();
    const step = offsetMs - this.#offsetMs;
    if (Math.abs(step) < STEP_MS) return 0;
    this.#offsetMs = offsetMs;
    return step;
  }
}
