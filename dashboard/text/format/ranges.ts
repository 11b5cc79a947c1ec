/** Time ranges of charts and lists, and gaps in recorded data. Pure. */
import { clockTime, dayOfMonth } from "./times.ts";

const HOUR = 3600;

export const RANGES = [
  ["1h", "1 h", HOUR],
  ["6h", "6 h", 6 * HOUR],
  ["24h", "24 h", 24 * HOUR],
  ["7d", "7 d", 7 * 24 * HOUR],
  ["30d", "30 d", 30 * 24 * HOUR],
] as const;
export type RangeName = (typeof RANGES)[number][0];

/** The default. */
export const FIRST_RANGE: RangeName = "1h";

export function rangeName(text: string | null): RangeName {
  return RANGES.find(([name]) => name === text)?.[0] ?? FIRST_RANGE;
}

export interface Span {
  /** Seconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/** All of the range, whatever was recorded in it. */
export function rangeSpan(range: RangeName, nowMs: number): Span {
  const to = nowMs / 1000;
  return { from: to - rangeSeconds(range), to };
}

function rangeSeconds(range: RangeName): number {
  return RANGES.find(([name]) => name === range)?.[2] ?? HOUR;
}

/** A chart cannot show more points than it has pixels. */
const POINTS_MAX = 360;

export interface RangeQuery {
  readonly from: string;
  readonly step: string;
}

/** @param stepSecondsMin the period of recording. */
export function rangeQuery(range: RangeName, nowMs: number, stepSecondsMin: number): RangeQuery {
  const seconds = rangeSeconds(range);
  const step = Math.max(stepSecondsMin, Math.ceil(seconds / POINTS_MAX / 10) * 10);
  return { from: new Date(nowMs - seconds * 1000).toISOString(), step: String(step) };
}

/** The shortest range that a chart of records every few seconds can show. */
const CHOSEN_SECONDS_MIN = 60;

/** A range that was chosen on a chart, from the URL: seconds since the epoch; null: none, or none that can be shown. */
export function chosenSpan(from: string | null, to: string | null): Span | null {
  const whole = /^\d{1,10}$/;
  if (from === null || to === null || !whole.test(from) || !whole.test(to)) return null;
  return Number(to) - Number(from) < CHOSEN_SECONDS_MIN ? null : { from: Number(from), to: Number(to) };
}

/** In the form of the URL, at least as long as a chart can show. */
export function spanQuery({ from, to }: Span): { readonly from: string; readonly to: string } {
  const begin = Math.floor(from);
  return { from: String(begin), to: String(Math.max(Math.ceil(to), begin + CHOSEN_SECONDS_MIN)) };
}

/** `24 Nov 03:12:45 to 03:20:00`. */
export function spanText({ from, to }: Span): string {
  const [begin, end] = [dayOfMonth(from * 1000), dayOfMonth(to * 1000)];
  return `${begin} ${clockTime(from * 1000)} to ${begin === end ? "" : `${end} `}${clockTime(to * 1000)}`;
}

/** The parameters of the history for a range that is not one of the names. */
export function spanRequest({ from, to }: Span, stepSecondsMin: number): RangeQuery & { readonly to: string } {
  const step = Math.max(stepSecondsMin, Math.ceil((to - from) / POINTS_MAX / 10) * 10);
  const text = (seconds: number) => new Date(seconds * 1000).toISOString();
  return { from: text(from), to: text(to), step: String(step) };
}

export interface Timeline<Point> {
  /** Seconds since the epoch, increasing. */
  readonly times: readonly number[];
  /** null: nothing was recorded at that time, so the chart shows a gap. */
  readonly points: readonly (Point | null)[];
}

export function timeline<Point extends { readonly ts: string }>(
  points: readonly Point[],
  stepSeconds: number,
): Timeline<Point> {
  const times: number[] = [];
  const filled: (Point | null)[] = [];
  for (const point of points) {
    const at = Date.parse(point.ts) / 1000;
    const before = times.at(-1);
    // Now and then a periodic record falls into the next bucket: one missing point is not a gap.
    if (before !== undefined && at - before > 2.5 * stepSeconds) {
      times.push(before + stepSeconds);
      filled.push(null);
    }
    times.push(at);
    filled.push(point);
  }
  return { times, points: filled };
}

/** A chart of less shows nothing. */
const RECORDED_SECONDS_MIN = 300;
/** As much of a range may be empty before its first record. */
const EMPTY_SHARE_MAX = 0.1;

/** The range from where records begin, if that is well within it: a service that has just started shows what it has. */
export function recordedSpan({ from, to }: Span, { times, points }: Timeline<unknown>, stepSeconds: number): Span {
  const first = times.find((_, i) => points[i] !== null);
  if (first === undefined || first - from < EMPTY_SHARE_MAX * (to - from)) return { from, to };
  return { from: Math.max(from, Math.min(first - stepSeconds, to - RECORDED_SECONDS_MIN)), to };
}

/** Where nothing was recorded: before, between and after the points. */
export function emptySpans<Point>({ times, points }: Timeline<Point>, { from, to }: Span, stepSeconds: number): Span[] {
  const spans: Span[] = [];
  let covered = from;
  const cover = (at: number) => {
    if (at - covered > 2.5 * stepSeconds) spans.push({ from: covered, to: at });
    covered = Math.max(covered, at + stepSeconds);
  };
  for (const [i, at] of times.entries()) if (points[i] !== null) cover(at);
  cover(to);
  return spans;
}
