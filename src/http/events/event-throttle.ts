/**
 * Passes on an item's first event and every event in which its phase changes; of other events, the latest one once a
 * second. Without it an attack would cause an event in every tick.
 */
import type { Cancel, Timers } from "../../system/timers.ts";

/** Attacks and bans with an event within the last second. */
export const EVENT_KEYS_MAX = 16_384;

export const THROTTLE_MS = 1000;

interface ThrottledItem<Event> {
  /** Identifies the item of the event. */
  readonly key: string;
  readonly phase: string;
  readonly event: Event;
}

interface Sent<Event> {
  phase: string;
  /** Sent at the end of the second; null: nothing new. */
  next: Event | null;
  cancel: Cancel;
}

export class EventThrottle<Event> {
  readonly #timers: Pick<Timers, "after">;
  readonly #send: (event: Event) => void;
  /** Items with an event in the last second. */
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
    // Beyond the bound, events are not throttled.
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
