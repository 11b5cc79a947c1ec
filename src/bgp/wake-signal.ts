/**
 * A wake-up signal for one loop, which waits for it or for a time limit. A signal without a waiter is kept for the next
 * wait.
 */
import { Pause } from "../system/pause.ts";
import type { Timers } from "../system/timers.ts";

export class WakeSignal {
  readonly #pause: Pause;
  #isSignaled = false;

  constructor(timers: Timers) {
    this.#pause = new Pause(timers);
  }

  signal(): void {
    this.#isSignaled = true;
    this.#pause.end();
  }

  /** True: signaled; false: the time is over. Only one waiter at a time. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#isSignaled) await this.#pause.wait(ms);
    const wasSignaled = this.#isSignaled;
    this.#isSignaled = false;
    return wasSignaled;
  }
}
