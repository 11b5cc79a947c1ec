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

interface Told<Event> {
  phase: string;
  /** Told when the second is over; null: nothing new. */
  next: Event | null;
  cancel: Cancel;
}

export class EventThrottle<Event> {
  readonly #timers: Pick<Timers, "after">;
  readonly #tell: (event: Event) => void;
  /** Told of within the last second. */
  readonly #told = new Map<string, Told<Event>>();

  constructor(timers: Pick<Timers, "after">, tell: (event: Event) => void) {
    this.#timers = timers;
    this.#tell = tell;
  }

  offer({ key, phase, event }: ThrottledItem<Event>): void {
    const told = this.#told.get(key);
    if (told?.phase === phase) {
      told.next = event;
      return;
    }
    told?.cancel();
    // So many at once go out as they come.
    if (told !== undefined || this.#told.size < EVENT_KEYS_MAX) this.#await(key, phase);
    this.#tell(event);
  }

  clear(): void {
    for (const { cancel } of this.#told.values()) cancel();
    this.#told.clear();
  }

  #await(key: string, phase: string): void {
    const cancel = this.#timers.after(THROTTLE_MS, () => this.#over(key));
    this.#told.set(key, { phase, next: null, cancel });
  }

  #over(key: string): void {
    const told = this.#told.get(key);
    if (told === undefined) return;
    if (told.next === null) {
      this.#told.delete(key);
      return;
    }
    this.#await(key, told.phase);
    this.#tell(told.next);
  }
}
