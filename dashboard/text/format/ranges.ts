/** Time ranges of charts and lists, and gaps in recorded data. Pure. */

import { t } from "../../language.ts";
import { clockTime, dayOfMonth } from "./times.ts";

const HOUR = 3600;

export const RANGES = [
  ["1h", t`${1} h`, HOUR],
  ["6h", t`${6} h`, 6 * HOUR],
  ["24h", t`${24} h`, 24 * HOUR],
  ["7d", t`${7} d`, 7 * 24 * HOUR],
  ["30d", t`${30} d`, 30 * 24 * HOUR],
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

/** The range of a view: back from now, or between two times. */
export type Range = RangeName | Span;

/** All of the range, whatever was recorded in it. */
export function rangeSpan(range: Range, nowMs: number): Span {
  if (typeof range !== "string") return range;
  const to = nowMs / 1000;
  return { from: to - rangeSeconds(range), to };
}

function rangeSeconds(range: RangeName): number {
  return RANGES.find(([name]) => name === range)?.[2] ?? HOUR;
}

/** `the last hour`, `the last 6 h`, or from when to when. */
export function rangeText(range: Range): string {
  if (typeof range !== "string") return spanText(range);
  if (range === "1h") return t`the last hour`;
  return t`the last ${RANGES.find(([name]) => name === range)?.[1]}`;
}

/** The same in a title: `in the last hour`. */
export function titleRange(range: Range): string {
  if (typeof range !== "string") return t`from ${spanText(range)}`;
  if (range === "1h") return t`in the last hour`;
  return t`in the last ${RANGES.find(([name]) => name === range)?.[1]}`;
}

/** A chart cannot show more points than it has pixels. */
const POINTS_MAX = 360;

interface RangeQuery {
  readonly from: string;
  /** Absent: now. */
  readonly to?: string;
  readonly step: string;
}

/** The parameters of the history. @param stepSecondsMin the period of recording. */
export function rangeQuery(range: Range, nowMs: number, stepSecondsMin: number): RangeQuery {
  const { from, to } = rangeSpan(range, nowMs);
  const step = Math.max(stepSecondsMin, Math.ceil((to - from) / POINTS_MAX / 10) * 10);
  const text = (seconds: number) => new Date(seconds * 1000).toISOString();
  return { from: text(from), ...(typeof range !== "string" && { to: text(to) }), step: String(step) };
}

/** Those of them that a list of the history takes. */
export function rangeEnds(range: Range, nowMs: number): Omit<RangeQuery, "step"> {
  const { step: _, ...ends } = rangeQuery(range, nowMs, 1);
  return ends;
}

/** The shortest range that a chart of records every few seconds can show. */
const CHOSEN_SECONDS_MIN = 60;
/** The history answers at most 31 days at once. */
export const CHOSEN_SECONDS_MAX = 31 * 24 * HOUR;

/** The range of the URL: two times in seconds since the epoch, or a name; what cannot be shown is the last hour. */
export function rangeOf(query: URLSearchParams): Range {
  return chosenSpan(query.get("from"), query.get("to")) ?? rangeName(query.get("range"));
}

/** null: none, or none that can be shown. */
export function chosenSpan(from: string | null, to: string | null): Span | null {
  const whole = /^\d{1,10}$/;
  if (from === null || to === null || !whole.test(from) || !whole.test(to)) return null;
  const seconds = Number(to) - Number(from);
  if (seconds < CHOSEN_SECONDS_MIN || seconds > CHOSEN_SECONDS_MAX) return null;
  return { from: Number(from), to: Number(to) };
}

/** In the form of the URL, at least as long as a chart can show. */
export function spanQuery({ from, to }: Span): { readonly from: string; readonly to: string } {
  const begin = Math.floor(from);
  return { from: String(begin), to: String(Math.max(Math.ceil(to), begin + CHOSEN_SECONDS_MIN)) };
}

/** `24 Nov 03:12:45 to 03:20:00`. */
function spanText({ from, to }: Span): string {
  const [begin, end] = [dayOfMonth(from * 1000), dayOfMonth(to * 1000)];
  return t`${begin} ${clockTime(from * 1000)} to ${begin === end ? "" : `${end} `}${clockTime(to * 1000)}`;
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

/**
 * The part of a range that a chart shows: the first one begins where the records begin, if that is well within it,
 * since a service that has just started has no more. A range that was chosen is shown as it is.
 * @param series `startedAt`: when the service started, seconds since the epoch, of a series that may be silent; absent:
 * it always has records
 */
export function recordedSpan(
  range: Range,
  nowMs: number,
  {
    times,
    points,
    stepSeconds,
    startedAt,
  }: Timeline<unknown> & { readonly stepSeconds: number; readonly startedAt?: number },
): Span {
  const { from, to } = rangeSpan(range, nowMs);
  const recorded = times.find((_, i) => points[i] !== null) ?? Number.NEGATIVE_INFINITY;
  const first = Math.min(recorded, startedAt ?? recorded);
  if (range !== FIRST_RANGE || first - from < EMPTY_SHARE_MAX * (to - from)) return { from, to };
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
