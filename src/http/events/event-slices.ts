/**
 * Passes events on in their order, for a part of each turn of the event loop: once a second there is one of each attack, and
 * each is written for all callers.
 */

import { SLICE_MS, type Slicing } from "../table-pass.ts";
import { EVENT_KEYS_MAX } from "./event-throttle.ts";

export class EventSlices<Event> {
  readonly #slicing: Slicing;
  readonly #send: (event: Event) => void;
  readonly #onFault: (cause: unknown) => void;
  #waiting: Event[] = [];
  /** The first in `#waiting` that was not sent. */
  #first = 0;
  /** The end of the time of this turn; null: nothing was sent in it. */
  #endMs: number | null = null;

  /** @param onFault an event could not be sent: those after it are. */
  constructor(slicing: Slicing, send: (event: Event) => void, onFault: (cause: unknown) => void) {
    this.#slicing = slicing;
    this.#send = send;
    this.#onFault = onFault;
  }

  /** Sent now if there is time and none waits; over the bound all that waits is. */
  push(event: Event): void {
    this.#waiting.push(event);
    const isFull = this.#waiting.length - this.#first > EVENT_KEYS_MAX;
    this.#sendWhile(() => isFull || this.#hasTime());
  }

  clear(): void {
    this.#waiting = [];
    this.#first = 0;
  }

  #sendWhile(mayGoOn: () => boolean): void {
    while (this.#first < this.#waiting.length && mayGoOn()) this.#sendOne(this.#waiting[this.#first++] as Event);
    if (this.#first === this.#waiting.length) this.clear();
  }

  #sendOne(event: Event): void {
    try {
      this.#send(event);
    } catch (cause) {
      this.#onFault(cause);
    }
  }

  #hasTime(): boolean {
    const { clock, nextTurn } = this.#slicing;
    const nowMs = clock.monotonicMs();
    if (this.#endMs !== null) return nowMs < this.#endMs;
    this.#endMs = nowMs + SLICE_MS;
    void nextTurn().then(() => {
      this.#endMs = null;
      this.#sendWhile(() => this.#hasTime());
    });
    return true;
  }
}
