/** Lets one loop sleep until a time or until somebody rings. A ring while nobody waits is kept for the next wait. */
import type { Timers } from "../system/timers.ts";

export class Doorbell {
  readonly #timers: Timers;
  #hasRung = false;
  #wake: (() => void) | null = null;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  ring(): void {
    this.#hasRung = true;
    this.#wake?.();
  }

  /** True: somebody rang; false: the time is over. One waiter at a time. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        const cancel = this.#timers.after(ms, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      this.#wake = null;
    }
    const rang = this.#hasRung;
    this.#hasRung = false;
    return rang;
  }
}
