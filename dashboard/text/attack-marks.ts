/** The marks of an attack's chart beside its lines: its begin, and each decision of its timeline. Pure. */
import type { SeriesWire, TimelineWire } from "../../src/http/wire/attack-series.ts";
import { t } from "../language.ts";
import { plusMinus, rateOf } from "./format/numbers.ts";
import { clockTime } from "./format/times.ts";

/** Seconds since the epoch of each entry. */
export function marksOf(entries: TimelineWire["entries"]): number[] {
  return entries.map(({ at }) => Date.parse(at) / 1000);
}

/** The entry that was the last at a time; null: there was none yet. @param marks increasing */
export function entryAt(marks: readonly number[], at: number | null): number | null {
  if (at === null) return null;
  const index = marks.findLastIndex((mark) => mark <= at);
  return index < 0 ? null : index;
}

/** Why the rate is higher before the attack began than after; null: it is not. @param beganAt RFC 3339 */
export function earlyPeakNote({ points, metric }: SeriesWire, beganAt: string): string | null {
  const began = Date.parse(beganAt);
  let early: SeriesWire["points"][number] | null = null;
  let later = 0;
  for (const point of points) {
    const isBefore = Date.parse(point.at) + 1000 * point.seconds <= began;
    if (!isBefore) later = Math.max(later, point.rate_max);
    else if (early === null || point.rate_max > early.rate_max) early = point;
  }
  if (early === null) return null;
  // A difference within the error of an estimate needs no explanation.
  const { max_sampling_error: error, rate_max: rate } = early;
  if (rate * (1 - (error ?? 0)) <= later) return null;
  return t`The rate was up to ${rateOf(metric, rate) + plusMinus(error)} at ${clockTime(Date.parse(early.at))}, before this attack began. It is not in its peak and total.`;
}
