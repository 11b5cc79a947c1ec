/** When what is given for a time is over, by a wall clock that may be set meanwhile; ms. */

/** Less than this is no clock that was set, but one that is held to time. */
const SLEW_MS = 1000;

/**
 * Its end as of now; null: it is past. After a clock that was set back it holds for `lifeMs` at most, which is what it was
 * given for, and not until that time comes once more.
 */
export function endOf(endMs: number, lifeMs: number, nowMs: number): number | null {
  if (endMs <= nowMs) return null;
  const latestMs = nowMs + lifeMs;
  return endMs > latestMs + SLEW_MS ? latestMs : endMs;
}
