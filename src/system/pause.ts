/** A wait of one loop that another caller can end early. */
import type { Cancel, Timers } from "./timers.ts";

export class Pause {
  readonly #timers: Pick<Timers, "after">;
  #end: Cancel = () => {};

  constructor(timers: Pick<Timers, "after">) {
    this.#timers = timers;
  }

  /** Resolves after `ms`, at once if `ms` is not above 0, or with end(). Only one waiter at a time. */
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

  /** No effect without a waiter. */
  end(): void {
    this.#end();
  }
}
