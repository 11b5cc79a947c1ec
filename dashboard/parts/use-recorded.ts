/** The data of a chart of recorded points: points at even times, the part of the range that is shown, and the gaps. */
import { useMemo } from "preact/hooks";
import { serviceNow } from "../api/contact.ts";
import { startedAt } from "../api/running.ts";
import { emptySpans, type Range, recordedSpan, type Span, type Timeline, timeline } from "../text/format/ranges.ts";

interface Recorded<Point> {
  readonly line: Timeline<Point>;
  readonly shown: Span;
  readonly empty: readonly Span[];
}

interface Series<Point> {
  readonly points: readonly Point[];
  readonly stepSeconds: number;
  readonly range: Range;
  /** Without points there was no traffic, or no service. */
  readonly mayBeSilent?: true;
}

export function useRecorded<Point extends { readonly ts: string }>(series: Series<Point>): Recorded<Point> {
  const { points, stepSeconds, range, mayBeSilent } = series;
  const line = useMemo(() => timeline(points, stepSeconds), [points, stepSeconds]);
  const shown = useMemo(
    () => recordedSpan(range, serviceNow(), { ...line, stepSeconds, ...(mayBeSilent === true ? startedAt() : {}) }),
    [range, line, stepSeconds],
  );
  const empty = useMemo(() => emptySpans(line, shown, stepSeconds), [line, shown, stepSeconds]);
  return { line, shown, empty };
}
