/**
 * Lets a repeated warning through once a minute for each key and counts the suppressed ones, so that a flood of
 * refusals does not become a flood of log lines.
 */
import type { Clock } from "../system/clock.ts";

/** Keys of repeated warnings that the log counts separately; all further keys share one entry. */
export const LIMITER_KEYS_MAX = 1024;

export const LIMITER_INTERVAL_MS = 60_000;

/** The key for all warnings when the table is full. */
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

  /** Calls `say` if a minute has passed for the key, with the number of suppressed warnings since then. */
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

  /** Called only when the table is full. The suppressed counts of expired keys are lost. */
  #dropExpired(now: number): void {
    for (const [key, entry] of this.#entries) {
      if (now - entry.sinceMs >= LIMITER_INTERVAL_MS) this.#entries.delete(key);
    }
  }
}
