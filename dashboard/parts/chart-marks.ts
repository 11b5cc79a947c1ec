/** Labels of a chart's time axis, and marks beside its lines. Pure. */
import { clockTime, dayOfMonth, shortTime } from "../text/format/times.ts";

/** Seconds between two marks on the time axis, so that no label repeats. */
export const TIME_STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400, 172_800, 604_800,
];

/** Shows seconds where the minutes would repeat, and the date at midnight, or below the first time of a day. */
export function timeTexts(splits: readonly number[]): string[] {
  const isFine = splits.length > 1 && (splits[1] ?? 0) - (splits[0] ?? 0) < 60;
  return splits.map((second, i) => {
    const date = dayOfMonth(second * 1000);
    const before = splits[i - 1];
    const time = isFine ? clockTime(second * 1000) : shortTime(second * 1000);
    if (shortTime(second * 1000) === "00:00" && !isFine) return date;
    return before === undefined || dayOfMonth(before * 1000) === date ? time : `${time}\n${date}`;
  });
}

/** Indexes of values without a neighbor: a line alone does not show them. */
export function lonePoints(values: readonly (number | null | undefined)[]): number[] {
  const isThere = (i: number) => values[i] !== null && values[i] !== undefined;
  return values.flatMap((_, i) => (isThere(i) && !isThere(i - 1) && !isThere(i + 1) ? [i] : []));
}
