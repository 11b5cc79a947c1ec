/**
 * Passes events on in their order, for a part of each turn of the event loop: once a second there is one of each attack, and
 * each is written for all callers.
 */
import { EVENT_KEYS_MAX } from "../../limits.ts";
import { SLICE_MS, type Slicing } from "../table-pass.ts";

export class EventSlices<Event> {
  readonly #slicing: Slicing;
  readonly #send: (event: Event) => void;
  #waiting: Event[] = [];
  /** The first in `#waiting` that was not sent. */
  #first = 0;
  /** The end of the time of this turn; null: nothing was sent in it. */
  #endMs: number | null = null;

  constructor(slicing: Slicing, send: (event: Event) => void) {
    this.#slicing = slicing;
    this.#send = send;
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
    while (this.#first < this.#waiting.length && mayGoOn()) this.#send(this.#waiting[this.#first++] as Event);
    if (this.#first === this.#waiting.length) this.clear();
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
