/**
 * The wall clock as orders of a cluster read it: whatever moves with a clock that was set has moved before the time is
 * known. An order that came between the step and the move would move by a step that it was corrected for already.
 */
import type { Clock } from "../system/clock.ts";
import { ClockSteps } from "../system/clock-steps.ts";

interface ClockFollowers {
  /** Orders in force: moves them, if the clock was set. */
  readonly orders: () => void;
  /** Moves the times that are kept of orders beside those in force, after them. */
  readonly stepped: (byMs: number) => void;
}

export class OrderClock implements Clock {
  readonly #clock: Clock;
  readonly #steps: ClockSteps;
  #followers: ClockFollowers | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#steps = new ClockSteps(clock);
  }

  /** Once there are orders. A step before that is none for them. */
  follow(followers: ClockFollowers): void {
    this.#steps.take();
    this.#followers = followers;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  wallMs(): number {
    if (this.#followers !== null) {
      this.#followers.orders();
      const stepMs = this.#steps.take();
      if (stepMs !== 0) this.#followers.stepped(stepMs);
    }
    return this.#clock.wallMs();
  }
}
