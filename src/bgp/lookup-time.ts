/**
 * When the tables of what neighbors get are read. Reading the table of thousands of routes while the speaker sends them keeps
 * it from sending: it gets as long again as it took to accept them. Times are monotonic, ms; the polls of the sessions come
 * back to what was put off.
 */

/** After the first of several that put it off. */
const PUT_OFF_MAX_MS = 3000;

export class LookupTime {
  /** null: it was not put off. */
  #firstMs: number | null = null;
  #dueMs = 0;

  /** Many routes were sent in this time. */
  putOff(nowMs: number, startedMs: number): void {
    this.#firstMs ??= nowMs;
    this.#dueMs = Math.min(nowMs + (nowMs - startedMs), this.#firstMs + PUT_OFF_MAX_MS);
  }

  isDue(nowMs: number): boolean {
    if (nowMs < this.#dueMs) return false;
    this.#firstMs = null;
    return true;
  }
}
