/** Ranges of whole numbers, such as ports and protocols, of which a value lies in one. Pure. */

/** Both ends inclusive, `from` <= `to`. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** One value and no other. */
export function exactly(value: number): readonly Range[] {
  return [{ from: value, to: value }];
}

/** The value if the ranges are of one alone; null: of none, or of several. */
export function onlyValue([range, ...others]: readonly Range[]): number | null {
  return range !== undefined && others.length === 0 && range.from === range.to ? range.from : null;
}

export function isWithin(value: number, { from, to }: Range): boolean {
  return from <= value && value <= to;
}

/** Whether the value lies in one of the ranges; of no range at all: any value does. */
export function isInRanges(ranges: readonly Range[], value: number): boolean {
  // Called for each packet and rule that is tried: without a closure, and without an iterator.
  for (let i = 0; i < ranges.length; i++) {
    const range = ranges[i] as Range;
    if (range.from <= value && value <= range.to) return true;
  }
  return ranges.length === 0;
}

/** The ranges without a value that may lie in one of them. */
export function withoutValue(ranges: readonly Range[], value: number): readonly Range[] {
  return ranges.flatMap((range) => {
    if (!isWithin(value, range)) return [range];
    const { from, to } = range;
    return [...(from < value ? [{ from, to: value - 1 }] : []), ...(value < to ? [{ from: value + 1, to }] : [])];
  });
}

/** `whole` without the holes, which lie in it and apart from each other. */
export function without(whole: Range, holes: readonly Range[]): readonly Range[] {
  const ranges: Range[] = [];
  let { from } = whole;
  for (const hole of holes.toSorted((a, b) => a.from - b.from)) {
    if (hole.from > from) ranges.push({ from, to: hole.from - 1 });
    from = hole.to + 1;
  }
  return from > whole.to ? ranges : [...ranges, { from, to: whole.to }];
}

/** Each value as ranges of its own, of no range at all any value; null: more than `most`. */
export function singleValues(ranges: readonly Range[], most: number): (readonly Range[])[] | null {
  if (ranges.length === 0) return [[]];
  if (ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0) > most) return null;
  return ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => exactly(from + i)));
}

/** `53`, or `8000-8010`. */
export function rangeText({ from, to }: Range): string {
  return from === to ? String(from) : `${from}-${to}`;
}

/** `53,8000-8010`; null: any. */
export function rangesText(ranges: readonly Range[], textOf: (range: Range) => string = rangeText): string | null {
  return ranges.length === 0 ? null : ranges.map(textOf).join(",");
}
