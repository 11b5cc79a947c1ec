/** The highest rates of the traffic history in words, with the error of those that are estimates. Pure. */
import type { TotalTrafficPointWire, TrafficPointWire } from "../../src/http/wire/traffic/traffic.ts";
import { t } from "../language.ts";
import { percent, plusMinus, rateOf } from "./format/numbers.ts";

type Point = Pick<TrafficPointWire | TotalTrafficPointWire, "max_pps" | "max_mbps" | "max_flows_per_sec"> &
  Pick<TrafficPointWire, "max_sampling_error">;
export type Base = "pps" | "mbps" | "flows_per_sec";

/** `60.0 kpps ± 12 %`: the error is that of the point with the highest rate. null: there is no point. */
export function highestText(points: readonly (Point | null)[], base: Base): string | null {
  let highest: Point | null = null;
  for (const point of points) {
    if (point !== null && (highest === null || point[`max_${base}`] > highest[`max_${base}`])) highest = point;
  }
  if (highest === null) return null;
  return rateOf(base, highest[`max_${base}`]) + plusMinus(errorOf(highest, base));
}

/** `Highest (up to ± 12 %)`: of a line through all of them, the largest error; of exact ones the name alone. */
export function highestName(name: string, points: readonly (Point | null)[], base: Base): string {
  const largest = Math.max(0, ...points.map((point) => (point === null ? 0 : (errorOf(point, base) ?? 0))));
  return nameWithError(name, largest);
}

/** @param error as a fraction; 0: the rates are exact. */
export function nameWithError(name: string, error: number): string {
  return error === 0 ? name : t`${name} (up to ± ${percent(error)})`;
}

/** undefined: it is exact. */
function errorOf({ max_sampling_error: errors }: Point, base: Base): number | undefined {
  return errors === undefined || errors[base] === 0 ? undefined : errors[base];
}
