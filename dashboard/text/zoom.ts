/** The part of a chart's time that is shown, closer or wider. Pure. */
import type { Span } from "./format/ranges.ts";

/** A closer look shows nothing more. */
const SECONDS_MIN = 0.5;

interface Zoom {
  readonly shown: Span;
  readonly whole: Span;
  /** The time that stays in the middle, seconds since the epoch; null: the middle of the shown range. */
  readonly at: number | null;
  /** Less than 1: closer. */
  readonly factor: number;
}

/** null: the whole. */
export function zoomed({ shown, whole, at, factor }: Zoom): Span | null {
  const length = Math.max(SECONDS_MIN, (shown.to - shown.from) * factor);
  if (length >= whole.to - whole.from) return null;
  const isShown = at !== null && at >= shown.from && at <= shown.to;
  const middle = isShown ? at : (shown.from + shown.to) / 2;
  const from = Math.min(whole.to - length, Math.max(whole.from, middle - length / 2));
  return { from, to: from + length };
}

/** Moved by a share of its length, within the whole: less than 0 is earlier. */
export function shifted(shown: Span, share: number, whole: Span): Span {
  const length = shown.to - shown.from;
  const from = Math.max(whole.from, Math.min(whole.to - length, shown.from + share * length));
  return { from, to: from + length };
}

/** Index of the time next to `at`; -1: there are none. @param times increasing */
export function nearest(times: readonly number[], at: number): number {
  let best = -1;
  for (const [i, time] of times.entries()) {
    if (best < 0 || Math.abs(time - at) < Math.abs((times[best] as number) - at)) best = i;
  }
  return best;
}
