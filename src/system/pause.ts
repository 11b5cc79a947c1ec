/** Lets one loop wait for a time that somebody else may cut short. */
import type { Cancel, Timers } from "./timers.ts";

export class Pause {
  readonly #timers: Pick<Timers, "after">;
  #end: Cancel = () => {};

  constructor(timers: Pick<Timers, "after">) {
    this.#timers = timers;
  }

  /** Resolves after `ms`, at once where that is not above 0, or with end(). One waiter at a time. */
  wait(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#timers.after(ms, resolve);
      this.#end = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Nothing happens where nobody waits. */
  end(): void {
    this.#end();
  }
}
