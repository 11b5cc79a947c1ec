/**
 * Bounds the lines of the log, by any cause: of each message a burst, then some a second. The next line of the
 * message says how many were left out, as `suppressed_lines`. Orders are in the audit trail, whatever the log has.
 */
import { LIMITER_KEYS_MAX } from "./limiter.ts";

/** Lines of one message at once, and per second beyond that. */
export const LINES_AT_ONCE = 500;
export const LINES_PER_SECOND = 20;

interface Allowance {
  lines: number;
  atMs: number;
  suppressed: number;
}

export class LineBudget {
  readonly #wallMs: () => number;
  readonly #byMessage = new Map<string, Allowance>();

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
  }

  /** How many lines of this message were left out since the last one that passed; null: this one is, too. */
  pass(message: string): number | null {
    const nowMs = this.#wallMs();
    const key = this.#byMessage.has(message) || this.#byMessage.size < LIMITER_KEYS_MAX ? message : "";
    const allowance = this.#byMessage.get(key) ?? { lines: LINES_AT_ONCE, atMs: nowMs, suppressed: 0 };
    this.#byMessage.set(key, allowance);
    // A clock that is set back gives nothing.
    const more = (Math.max(0, nowMs - allowance.atMs) / 1000) * LINES_PER_SECOND;
    allowance.lines = Math.min(LINES_AT_ONCE, allowance.lines + more);
    allowance.atMs = nowMs;
    if (allowance.lines < 1) {
      allowance.suppressed++;
      return null;
    }
    allowance.lines--;
    const { suppressed } = allowance;
    allowance.suppressed = 0;
    return suppressed;
  }
}
