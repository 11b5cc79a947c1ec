/**
 * Which attacks in progress end early when the table is full and a worse one is detected: those that have been calm for
 * longest, then the smallest. Otherwise many small attacks in their calm time would hide a flood.
 */
import type { ActiveAttacks } from "./active-attacks.ts";
import type { Attack } from "./attack.ts";
import { sizeOfRates } from "./attack-size.ts";

/** A larger attack replaces one that is not calm only if it is this many times as large: rates vary by themselves. */
const LARGER_FACTOR = 2;

export class ReplaceableAttacks {
  readonly #active: ActiveAttacks;
  /** Sorted at the first need. Made for one judgement; attacks that start in it are not in the list. */
  #sorted: readonly Attack[] | null = null;
  #next = 0;

  constructor(active: ActiveAttacks) {
    this.#active = active;
  }

  /** The attack that an attack of this size may replace; null: none. Each is returned once. */
  takeFor(size: number, isIncluded: (attack: Attack) => boolean): Attack | null {
    this.#sorted ??= [...this.#active.values()].filter(isIncluded).sort(replacedFirst);
    const attack = this.#sorted[this.#next];
    if (attack === undefined) return null;
    if (attack.calmSinceMs === null && size < LARGER_FACTOR * sizeOfRates(attack.rates)) return null;
    this.#next++;
    return attack;
  }
}

function replacedFirst(a: Attack, b: Attack): number {
  const [aCalm, bCalm] = [a.calmSinceMs ?? Number.POSITIVE_INFINITY, b.calmSinceMs ?? Number.POSITIVE_INFINITY];
  return aCalm === bCalm ? sizeOfRates(a.rates) - sizeOfRates(b.rates) : aCalm - bCalm;
}
