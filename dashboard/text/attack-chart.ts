/** The history's chart of an attack: it has the three base rates of a host, of all its traffic. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { SeriesWire } from "../../src/http/wire/attack-series.ts";
import { t } from "../language.ts";
import { metricName } from "./format/numbers.ts";
import type { Base } from "./highest.ts";

interface AttackChartWords {
  readonly base: Base;
  /** Label of the lines. */
  readonly label: string;
  /** Value of the dashed line; null: the threshold is of other traffic than the line. */
  readonly threshold: number | null;
  /** The traffic in the line beside the attack's own; null: its metric is of all traffic. */
  readonly note: string | null;
}

export function attackChartWords({ metric, threshold }: Pick<AttackWire, "metric" | "threshold">): AttackChartWords {
  const base = baseMetric(metric);
  const label = t`All ${metricName(base)}`;
  if (base === metric) return { base, label, threshold, note: null };
  const note =
    t`The line is ${metricName(base)} of all traffic: the history has no ${metricName(metric)} alone, ` +
    t`by which the attack was detected.`;
  return { base, label, threshold: null, note };
}

type Course = SeriesWire["points"];

interface DrawnPoints {
  /** Seconds since the epoch. */
  readonly times: readonly number[];
  /** null: nothing is known from then on, until the next. */
  readonly points: readonly (Course[number] | null)[];
}

/** A point is drawn where it begins. Where none is known for longer than a point is long, the lines end. */
export function drawnPoints(points: Course): DrawnPoints {
  const times: number[] = [];
  const drawn: (Course[number] | null)[] = [];
  let endMs = Number.POSITIVE_INFINITY;
  let lengthMs = 0;
  for (const point of points) {
    const beginMs = Date.parse(point.at);
    if (beginMs - endMs > lengthMs) {
      times.push(endMs / 1000);
      drawn.push(null);
    }
    times.push(beginMs / 1000);
    drawn.push(point);
    lengthMs = 1000 * point.seconds;
    endMs = beginMs + lengthMs;
  }
  return { times, points: drawn };
}

type Point = Partial<Pick<SeriesWire["points"][number], "dropped_pps" | "dropped_mbps" | "passed_pps" | "passed_mbps">>;

/**
 * The outcome of the traffic at each point; null: it is not known. Drops are known of all packets and bits, not of
 * those of one protocol, of which more might seem to pass than came.
 */
export function outcomesOf(metric: string, points: readonly (Point | null)[]) {
  if (metric !== "pps" && metric !== "mbps") return null;
  const passed = points.map((point) => point?.[`passed_${metric}`] ?? null);
  const dropped = points.map((point) => point?.[`dropped_${metric}`] ?? null);
  return passed.some((rate) => rate !== null) ? { dropped, passed } : null;
}

function baseMetric(metric: string): Base {
  if (metric === "flows_per_sec") return metric;
  return metric.endsWith("mbps") ? "mbps" : "pps";
}
