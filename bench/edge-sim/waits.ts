/** Waits that can be ended from outside. */
import type { Timers } from "../../src/system/timers.ts";

export class Waits {
  readonly #timers: Pick<Timers, "after">;
  readonly #wakes = new Set<() => void>();

  constructor(timers: Pick<Timers, "after">) {
    this.#timers = timers;
  }

  /** Resolves after this number of ms, null: no limit; or when all are woken. */
  wait(ms: number | null): Promise<void> {
    return new Promise((resolve) => {
      const cancel = ms === null ? () => {} : this.#timers.after(Math.max(0, ms), () => wake());
      const wake = () => {
        cancel();
        this.#wakes.delete(wake);
        resolve();
      };
      this.#wakes.add(wake);
    });
  }

  wakeAll(): void {
    for (const wake of this.#wakes) wake();
  }
}
