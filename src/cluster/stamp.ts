/**
 * The stamp of an order: of several orders for one key the one with the newest stamp is in force at every brain
 * (last writer wins; the clock follows the largest stamp seen, as Lamport's do).
 */

export interface Stamp {
  /** Wall clock of the brain that took the order, ms, or more if it had seen a later stamp. */
  readonly ms: number;
  /** The name of that brain: decides between stamps of one millisecond. */
  readonly brain: string;
}

/** Stamps further ahead of the own wall clock are refused: they would make all later orders lose. */
export const STAMP_AHEAD_MAX_MS = 86_400_000;

/** Negative: `a` is older. */
export function compareStamps(a: Stamp, b: Stamp): number {
  if (a.ms !== b.ms) return a.ms - b.ms;
  return a.brain === b.brain ? 0 : a.brain < b.brain ? -1 : 1;
}

export function isNewer(a: Stamp, b: Stamp | null): boolean {
  return b === null || compareStamps(a, b) > 0;
}

export function isTooFarAhead({ ms }: Stamp, wallMs: number): boolean {
  return ms - wallMs > STAMP_AHEAD_MAX_MS;
}

/** Makes the stamps of one brain: each is later than all that it has made or seen. */
export class StampClock {
  readonly #brain: string;
  #lastMs = 0;

  constructor(brain: string) {
    this.#brain = brain;
  }

  /** The latest that was made or seen, ms. */
  get lastMs(): number {
    return this.#lastMs;
  }

  next(wallMs: number): Stamp {
    this.#lastMs = Math.max(Math.floor(wallMs), this.#lastMs + 1);
    return { ms: this.#lastMs, brain: this.#brain };
  }

  see({ ms }: Stamp): void {
    this.#lastMs = Math.max(this.#lastMs, ms);
  }

  /** The wall clock was set back from far ahead: stamps begin again from the time that it shows now. */
  reset(): void {
    this.#lastMs = 0;
  }
}
