/** An attack's traffic tick by tick, from before its detection; from the history where the service has no series of it. */
import { useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { SeriesWire } from "../../../src/http/wire/attack-series.ts";
import { useResource } from "../../api/resource.ts";
import { Chart, type Series } from "../../parts/chart.tsx";
import { Show } from "../../parts/show.tsx";
import { rateOf } from "../../text/format/numbers.ts";
import { attackSubject } from "../../text/mitigation.ts";
import { HistoryChart } from "./history-chart.tsx";

const EVERY_MS = 2000;

export function AttackChart({ attack }: { readonly attack: AttackWire }) {
  const { id, target, ended_at: end } = attack;
  const found = useResource<SeriesWire>(`/api/v1/attacks/${encodeURIComponent(id)}/series`, end ? 0 : EVERY_MS);
  return (
    <Show loaded={found.state.value} what="traffic of the attack" onRetry={() => void found.refresh()}>
      {(series) => {
        // After a restart the service has only what came since.
        const hasBegin = Date.parse(series.points[0]?.at ?? "") <= Date.parse(series.started_at);
        if (target !== undefined && !hasBegin) return <HistoryChart attack={attack} target={target} />;
        return series.available ? <SeriesChart series={series} subject={attackSubject(attack)} /> : null;
      }}
    </Show>
  );
}

function SeriesChart({ series, subject }: { readonly series: SeriesWire; readonly subject: string }) {
  const { points, metric, started_at: begin, ended_at: end } = series;
  const times = useMemo(() => points.map(({ at, seconds }) => Date.parse(at) / 1000 + seconds), [points]);
  const lines = useMemo(() => linesOf(series), [series]);
  const spans = useMemo(() => {
    const to = end === undefined ? (times.at(-1) ?? 0) : Date.parse(end) / 1000;
    return [{ from: Date.parse(begin) / 1000, to }];
  }, [begin, end, times]);
  const peak = rateOf(metric, Math.max(0, ...points.map(({ rate_max: highest }) => highest)));
  return (
    <Chart
      label={`Rate of ${subject} over time, at most ${peak}; tinted from its detection to its end`}
      times={times}
      series={lines}
      format={(value) => rateOf(metric, value)}
      spans={spans}
    />
  );
}

function linesOf({ points, metric, threshold, baseline }: SeriesWire): Series[] {
  const passed = passedOf(metric);
  const constant = (label: string, color: string, value: number): Series => ({
    label,
    color,
    values: points.map(() => value),
    form: "dashed",
  });
  const hasPassed = passed !== null && points.some((point) => point[passed] !== undefined);
  return [
    { label: "Offered", color: "--chart-rate", values: points.map(({ rate }) => rate), form: "shade" },
    { label: "Highest", color: "--chart-rate", values: points.map(({ rate_max: highest }) => highest) },
    ...(hasPassed
      ? [{ label: "Passed", color: "--chart-udp", values: points.map((point) => point[passed] ?? null) }]
      : []),
    constant("Threshold", "--chart-threshold", threshold),
    ...(baseline === undefined ? [] : [constant("Normal", "--chart-baseline", baseline)]),
  ];
}

/** What was dropped is known of all packets and bits, not of those of one protocol. */
function passedOf(metric: string): "passed_pps" | "passed_mbps" | null {
  if (metric === "pps") return "passed_pps";
  return metric === "mbps" ? "passed_mbps" : null;
}
