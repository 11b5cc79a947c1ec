/**
 * How many attacks may take the place of others: each is an update of BGP at all neighbors. The rate is independent of
 * the cap on bans, which an operator may set high.
 */

/** At the rate of 10 a second an attack that is the largest of those without a ban waits for a tenth of a second. */
export const REPLACEMENT_MS = 100;
/** The maximum at once, after a time without any. */
export const REPLACEMENTS_AT_ONCE = 10;

export class ReplacementBudget {
  /** All until then are used; one more for each REPLACEMENT_MS after it. Wall clock. */
  #usedUntilMs = Number.NEGATIVE_INFINITY;

  /** False: none is left. A wall clock that was set back starts the budget again. */
  take(wallMs: number): boolean {
    const fullMs = REPLACEMENTS_AT_ONCE * REPLACEMENT_MS;
    const isSetBack = this.#usedUntilMs > wallMs;
    const usedUntilMs = isSetBack ? wallMs - fullMs : Math.max(this.#usedUntilMs, wallMs - fullMs);
    if (usedUntilMs + REPLACEMENT_MS > wallMs) return false;
    this.#usedUntilMs = usedUntilMs + REPLACEMENT_MS;
    return true;
  }
}
