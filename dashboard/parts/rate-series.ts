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
