/** Lets one loop sleep until a time or until somebody rings. A ring while nobody waits is kept for the next wait. */
import { Pause } from "../system/pause.ts";
import type { Timers } from "../system/timers.ts";

export class Doorbell {
  readonly #pause: Pause;
  #hasRung = false;

  constructor(timers: Timers) {
    this.#pause = new Pause(timers);
  }

  ring(): void {
    this.#hasRung = true;
    this.#pause.end();
  }

  /** True: somebody rang; false: the time is over. One waiter at a time. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#hasRung) await this.#pause.wait(ms);
    const rang = this.#hasRung;
    this.#hasRung = false;
    return rang;
  }
}
