/**
 * Lets a repeated warning through once a minute for each key and counts what it held back, so that a flood of refusals
 * does not become a flood of log lines.
 */
import { LIMITER_KEYS_MAX } from "../limits.ts";
import type { Clock } from "../system/clock.ts";

export const LIMITER_INTERVAL_MS = 60_000;

/** Keys that found no place share this one. */
const OTHERS = Symbol("others");

interface Entry {
  readonly sinceMs: number;
  suppressed: number;
}

export class Limiter {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #entries = new Map<string | symbol, Entry>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Calls `say` when it is the key's turn, with how many were held back since it last was. */
  pass(key: string, say: (suppressed: number) => void): void {
    const now = this.#clock.monotonicMs();
    const place = this.#placeOf(key, now);
    const entry = this.#entries.get(place);
    if (entry !== undefined && now - entry.sinceMs < LIMITER_INTERVAL_MS) {
      entry.suppressed++;
      return;
    }
    this.#entries.set(place, { sinceMs: now, suppressed: 0 });
    say(entry?.suppressed ?? 0);
  }

  #placeOf(key: string, now: number): string | symbol {
    if (this.#entries.has(key) || this.#entries.size < LIMITER_KEYS_MAX) return key;
    this.#dropExpired(now);
    return this.#entries.size < LIMITER_KEYS_MAX ? key : OTHERS;
  }

  /** Only when the table is full. What such a key held back is no longer told. */
  #dropExpired(now: number): void {
    for (const [key, entry] of this.#entries) {
      if (now - entry.sinceMs >= LIMITER_INTERVAL_MS) this.#entries.delete(key);
    }
  }
}
