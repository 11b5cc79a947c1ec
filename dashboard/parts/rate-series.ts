/** The rate of the traffic history as a chart draws it: the highest of each step as the line, its mean as a shade. */
import type { TrafficPointWire } from "../../src/http/wire/traffic/traffic.ts";
import { t } from "../language.ts";
import { type Base, highestName } from "../text/highest.ts";
import type { Series } from "./chart.tsx";

export function rateSeries(base: Base, points: readonly (TrafficPointWire | null)[]): Series[] {
  const values = (of: (point: TrafficPointWire) => number) =>
    points.map((point) => (point === null ? null : of(point)));
  return [
    { label: t`Mean`, color: "--chart-rate", values: values((point) => point[base]), form: "shade" },
    {
      label: highestName(t`Highest`, points, base),
      color: "--chart-rate",
      values: values((point) => point[`max_${base}`]),
    },
  ];
}

/** The threshold and the learned rate, dashed. @param threshold 0: there is none. */
export function limitSeries(
  base: Base,
  points: readonly (Pick<TrafficPointWire, "baseline_pps"> | null)[],
  threshold: number,
): Series[] {
  const line = (label: string, color: string, values: Series["values"]) =>
    ({ label, color, values, form: "dashed" }) satisfies Series;
  // The baseline is recorded for packets only.
  const hasBaseline = base === "pps" && points.some((point) => point?.baseline_pps !== undefined);
  const all = points.map(() => threshold);
  const normal = points.map((point) => point?.baseline_pps ?? null);
  return [
    ...(threshold > 0 ? [line(t`Threshold`, "--chart-threshold", all)] : []),
    ...(hasBaseline ? [line(t`Normal`, "--chart-baseline", normal)] : []),
  ];
}
