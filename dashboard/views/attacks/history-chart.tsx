/** The victim's rate from before the attack until after it, from the history. */
import { useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { TrafficPointWire, TrafficWire } from "../../../src/http/wire/traffic/traffic.ts";
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Empty, StorageOff } from "../../parts/callout.tsx";
import { Chart } from "../../parts/chart.tsx";
import { limitSeries, rateSeries } from "../../parts/rate-series.ts";
import { Show } from "../../parts/show.tsx";
import { attackChartWords } from "../../text/attack-chart.ts";
import { rateOf } from "../../text/format/numbers.ts";
import { highestText } from "../../text/highest.ts";

interface HistoryChartProps {
  readonly attack: AttackWire;
  readonly target: string;
}

const AROUND_MS = 5 * 60_000;
const EVERY_MS = 10_000;
const STEP_SECONDS_MIN = 10;
/** A chart cannot show more points than it has pixels. */
const POINTS = 600;

export function HistoryChart({ attack, target }: HistoryChartProps) {
  const { direction, started_at: begin, ended_at: end } = attack;
  const path = useMemo(() => {
    const from = Date.parse(begin) - AROUND_MS;
    const to = end === undefined ? null : Date.parse(end) + AROUND_MS;
    const spanSeconds = ((to ?? Date.now()) - from) / 1000;
    const step = Math.max(STEP_SECONDS_MIN, Math.ceil(spanSeconds / POINTS));
    const query = { key: target, direction, from: new Date(from).toISOString(), step: String(step) };
    const range = to === null ? query : { ...query, to: new Date(to).toISOString() };
    return `/api/v1/traffic?${new URLSearchParams(range)}`;
  }, [target, direction, begin, end]);
  const traffic = useResource<TrafficWire>(path, end === undefined ? EVERY_MS : 0);
  return (
    <Show loaded={traffic.state.value} what={t`history of its rates`} onRetry={() => void traffic.refresh()}>
      {({ available, points }) => {
        if (!available) return <StorageOff what={t`history`} />;
        if (points.length === 0)
          return <Empty title={t`No history of it yet`}>{t`Rates are kept every few seconds.`}</Empty>;
        return <Recorded attack={attack} target={target} points={points} />;
      }}
    </Show>
  );
}

function Recorded({ attack, target, points }: HistoryChartProps & { readonly points: readonly TrafficPointWire[] }) {
  const { started_at: begin, ended_at: end } = attack;
  const words = attackChartWords(attack);
  const { base, label, threshold } = words;
  const times = useMemo(() => points.map(({ ts }) => Date.parse(ts) / 1000), [points]);
  const series = useMemo(
    () => [...rateSeries(base, points), ...limitSeries(base, points, threshold ?? 0)],
    [points, base, threshold],
  );
  const spans = useMemo(() => {
    const to = end === undefined ? (times.at(-1) ?? 0) : Date.parse(end) / 1000;
    return [{ from: Date.parse(begin) / 1000, to }];
  }, [begin, end, times]);
  const peak = highestText(points, base);
  return (
    <>
      <Chart
        label={t`Recorded rate of ${target} over time: ${label}, at most ${peak}; tinted from the attack's detection to its end`}
        times={times}
        series={series}
        format={(value) => rateOf(base, value)}
        spans={spans}
      />
      {words.note !== null && <p class="muted">{words.note}</p>}
    </>
  );
}
