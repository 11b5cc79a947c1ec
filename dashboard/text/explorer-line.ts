/** A line of the explorer's chart in numbers, as its legend has them. Pure. */
import type { TotalTrafficPointWire, TrafficPointWire } from "../../src/http/wire/traffic/traffic.ts";
import { sumOf, type Unit } from "./exploration.ts";
import { rateOf } from "./format/numbers.ts";
import { highestText } from "./highest.ts";

export type Values = readonly (number | null)[];

export interface ExplorerLine {
  /** The drawn values; null: not recorded. */
  readonly values: Values;
  /** Mean of each step. */
  readonly means: Values;
  /** Points with its highest rates; null: they are not recorded of it. */
  readonly maxima: readonly (TrafficPointWire | TotalTrafficPointWire | null)[] | null;
  /** It has no means of its own: those are another line's. */
  readonly isMaximaOnly?: boolean;
}

export function lineTexts({ values, means, maxima, isMaximaOnly }: ExplorerLine, unit: Unit) {
  const text = (value: number | null) => (value === null ? "–" : rateOf(unit, value));
  return {
    mean: isMaximaOnly === true ? "–" : text(meanOf(means)),
    highest: highestText(maxima ?? [], unit) ?? "–",
    last: text(values.findLast((value) => value !== null) ?? null),
  };
}

/** null: nothing was recorded. */
function meanOf(values: Values): number | null {
  const sum = sumOf(values);
  return sum === null ? null : sum / values.filter((value) => value !== null).length;
}
