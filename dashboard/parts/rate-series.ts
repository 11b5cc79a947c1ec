/** The rate of the traffic history as a chart draws it: the highest of each step as the line, its mean as a shade. */
import type { TrafficPointWire } from "../../src/http/wire/traffic/traffic.ts";
import type { Series } from "./chart.tsx";

export type Base = "pps" | "mbps" | "flows_per_sec";

export function rateSeries(
  base: Base,
  values: (of: (point: TrafficPointWire) => number) => readonly (number | null)[],
): Series[] {
  return [
    { label: "Mean", color: "--chart-rate", values: values((point) => point[base]), form: "shade" },
    { label: "Highest", color: "--chart-rate", values: values((point) => point[`max_${base}`]) },
  ];
}
