/** Months of UTC, as reports for customers have them. Pure. */

interface Month {
  /** `2026-03`. */
  readonly name: string;
  /** RFC 3339; the end of the present one is now. */
  readonly from: string;
  readonly to: string;
}

/** The present month and those before it, the newest first. */
export function monthsBefore(nowMs: number, count: number): readonly Month[] {
  const now = new Date(nowMs);
  const startOf = (back: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back);
  return Array.from({ length: count }, (_, back) => {
    const from = new Date(startOf(back)).toISOString();
    return { name: from.slice(0, 7), from, to: new Date(back === 0 ? nowMs : startOf(back - 1)).toISOString() };
  });
}
