/**
 * Lets an item's first event through, and every one in which it has passed into another phase; of those in between the
 * latest, once a second. Without it an attack would be told of at every tick.
 */
import { EVENT_KEYS_MAX } from "../../limits.ts";
import type { Cancel, Timers } from "../../system/timers.ts";

export const THROTTLE_MS = 1000;

export interface ThrottledItem<Event> {
  /** What it is that the event is about. */
  readonly key: string;
  readonly phase: string;
  readonly event: Event;
}

interface Sent<Event> {
  phase: string;
  /** Told when the second is over; null: nothing new. */
  next: Event | null;
  cancel: Cancel;
}

export class EventThrottle<Event> {
  readonly #timers: Pick<Timers, "after">;
  readonly #send: (event: Event) => void;
  /** Told of within the last second. */
  readonly #sent = new Map<string, Sent<Event>>();

  constructor(timers: Pick<Timers, "after">, send: (event: Event) => void) {
    this.#timers = timers;
    this.#send = send;
  }

  offer({ key, phase, event }: ThrottledItem<Event>): void {
    const sent = this.#sent.get(key);
    if (sent?.phase === phase) {
      sent.next = event;
      return;
    }
    sent?.cancel();
    // So many at once go out as they come.
    if (sent !== undefined || this.#sent.size < EVENT_KEYS_MAX) this.#await(key, phase);
    this.#send(event);
  }

  clear(): void {
    for (const { cancel } of this.#sent.values()) cancel();
    this.#sent.clear();
  }

  #await(key: string, phase: string): void {
    const cancel = this.#timers.after(THROTTLE_MS, () => this.#over(key));
    this.#sent.set(key, { phase, next: null, cancel });
  }

  #over(key: string): void {
    const sent = this.#sent.get(key);
    if (sent === undefined) return;
    if (sent.next === null) {
      this.#sent.delete(key);
      return;
    }
    this.#await(key, sent.phase);
    this.#send(sent.next);
  }
}
