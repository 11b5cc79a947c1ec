/** Expiry times by a wall clock that may be set in the meantime; ms. */

/** A smaller difference is a gradual correction of the clock, not a clock that was set. */
const SLEW_MS = 1000;

/**
 * Returns the end of the period as of now; null: it has expired. After the clock was set back, the period ends after at
 * most `lifeMs`, its original duration.
 */
export function endOf(endMs: number, lifeMs: number, nowMs: number): number | null {
  if (endMs <= nowMs) return null;
  const latestMs = nowMs + lifeMs;
  return endMs > latestMs + SLEW_MS ? latestMs : endMs;
}
