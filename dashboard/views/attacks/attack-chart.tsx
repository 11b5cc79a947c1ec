/** An attack's traffic tick by tick, from before its detection; from the history where the service has no series of it. */
import { useMemo, useState } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { SeriesWire } from "../../../src/http/wire/attack-series.ts";
import { serviceNow } from "../../api/contact.ts";
import type { Resource } from "../../api/resource.ts";
import { t, tx } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Chart, type Series } from "../../parts/chart.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { drawnPoints, outcomesOf } from "../../text/attack-chart.ts";
import { earlyPeakNote } from "../../text/attack-marks.ts";
import { missedText } from "../../text/attack-size.ts";
import { plusMinus, rateOf } from "../../text/format/numbers.ts";
import type { Span } from "../../text/format/ranges.ts";
import { momentText } from "../../text/format/times.ts";
import { nameWithError } from "../../text/highest.ts";
import { attackSubject } from "../../text/mitigation.ts";
import { nearest, zoomed } from "../../text/zoom.ts";
import { HistoryChart } from "./history-chart.tsx";

interface AttackChartProps {
  readonly attack: AttackWire;
  readonly resource: Resource<SeriesWire>;
  /** Times of what was decided, in seconds since the epoch. */
  readonly marks: readonly number[];
  readonly pointedAt: number | null;
  readonly onPoint: (at: number | null) => void;
}

export function AttackChart(props: AttackChartProps) {
  const { attack, resource } = props;
  return (
    <Show loaded={resource.state.value} what={t`traffic of the attack`} onRetry={() => void resource.refresh()}>
      {(series) => {
        // After a restart the service has only what came since.
        const hasBegin = Date.parse(series.points[0]?.at ?? "") <= Date.parse(series.started_at);
        if (attack.target !== undefined && !hasBegin) {
          return (
            <Panel title={t`Traffic`} isWide>
              <HistoryChart attack={attack} target={attack.target} />
              <Missed attack={attack} />
            </Panel>
          );
        }
        return series.available ? <SeriesChart {...props} series={series} hasBegin={hasBegin} /> : null;
      }}
    </Show>
  );
}

function SeriesChart({
  attack,
  series,
  marks,
  pointedAt,
  onPoint,
  hasBegin,
}: AttackChartProps & { readonly series: SeriesWire; readonly hasBegin: boolean }) {
  const { points, metric, started_at: detected, ended_at: end } = series;
  const began = attack.volume?.began_at ?? detected;
  const [zoom, setZoom] = useState<Span | null>(null);
  const drawn = useMemo(() => drawnPoints(points), [points]);
  const { times } = drawn;
  const lines = useMemo(() => linesOf(series, drawn.points), [series, drawn]);
  const spans = useMemo(() => {
    const to = end === undefined ? (times.at(-1) ?? 0) : Date.parse(end) / 1000;
    return [{ from: Date.parse(began) / 1000, to }];
  }, [began, end, times]);
  const whole = { from: times[0] ?? 0, to: times.at(-1) ?? 0 };
  const shown = zoom ?? whole;
  const peak = highestOf(series);
  const note = earlyPeakNote(series, began);
  return (
    <Panel
      title={t`Traffic`}
      isWide
      actions={
        <ZoomButtons zoom={zoom} onZoom={(factor) => setZoom(zoomed({ shown, whole, at: pointedAt, factor }))} />
      }
    >
      <Chart
        label={t`Rate of ${attackSubject(attack)} over time, at most ${peak}; tinted from its begin to its end, with a line at each decision`}
        times={times}
        series={lines}
        format={(value) => rateOf(metric, value)}
        spans={spans}
        marks={marks}
        pointedAt={pointedAt}
        onPoint={onPoint}
        onBrush={setZoom}
        {...(zoom !== null && { range: zoom })}
      >
        <Steps
          times={times}
          shown={shown}
          pointedAt={pointedAt}
          onPoint={onPoint}
          textOf={(i) => valuesText(lines, i, metric)}
        />
      </Chart>
      {note !== null && <p>{note}</p>}
      <Missed attack={attack} />
      {!hasBegin && <p>{t`What came before the first point is not drawn: Floodwall was started amid the attack.`}</p>}
      <p class="muted">{tx`A line marks each entry of the timeline. Drag over the chart to look closer; with the keyboard, the arrow keys go through it.${series.ended_at === undefined && zoom !== null && t` While the chart is zoomed, it does not follow the attack.`}`}</p>
    </Panel>
  );
}

/** In no chart and in no number. */
function Missed({ attack: { volume } }: Pick<AttackChartProps, "attack">) {
  const text = volume === undefined ? null : missedText(volume, (ms) => momentText(ms, serviceNow()));
  return text === null ? null : <p>{t`Not counted: ${text}.`}</p>;
}

interface ZoomButtonsProps {
  readonly zoom: Span | null;
  /** Infinity: the whole attack. */
  readonly onZoom: (factor: number) => void;
}

function ZoomButtons({ zoom, onZoom }: ZoomButtonsProps) {
  return (
    <div class="choices">
      <Button onClick={() => onZoom(0.5)}>{t`Zoom in`}</Button>
      <Button onClick={() => onZoom(2)} isDisabled={zoom === null}>{t`Zoom out`}</Button>
      {zoom !== null && (
        <Button look="primary" onClick={() => onZoom(Number.POSITIVE_INFINITY)}>{t`Whole attack`}</Button>
      )}
    </div>
  );
}

interface StepsProps {
  readonly times: readonly number[];
  readonly shown: Span;
  readonly pointedAt: number | null;
  readonly onPoint: (at: number) => void;
  readonly textOf: (index: number) => string;
}

/** The crosshair for the keyboard: an arrow key goes to the next tick that the chart shows. */
function Steps({ times, shown, pointedAt, onPoint, textOf }: StepsProps) {
  const first = times.findIndex((time) => time >= shown.from);
  const last = times.findLastIndex((time) => time <= shown.to);
  if (first < 0 || last <= first) return null;
  const at = Math.min(last, Math.max(first, pointedAt === null ? last : nearest(times, pointedAt)));
  return (
    <input
      type="range"
      class="chart-steps"
      aria-label={t`Time in the chart`}
      aria-valuetext={textOf(at)}
      min={first}
      max={last}
      value={at}
      // The line in the chart is the thumb.
      onFocus={() => onPoint(times[at] as number)}
      onInput={(event) => {
        const time = times[Number(event.currentTarget.value)];
        if (time !== undefined) onPoint(time);
      }}
    />
  );
}

/** `60.0 kpps ± 9 %`: the error is that of the point with the highest rate. */
function highestOf({ points, metric }: SeriesWire): string {
  const rate = Math.max(0, ...points.map(({ rate_max: highest }) => highest));
  const error = points.find(({ rate_max: highest }) => highest === rate)?.max_sampling_error;
  return rateOf(metric, rate) + plusMinus(error);
}

function valuesText(lines: readonly Series[], index: number, metric: string): string {
  return lines
    .map(({ label, values }) => `${label} ${values[index] == null ? t`not known` : rateOf(metric, values[index])}`)
    .join(", ");
}

function linesOf(
  { metric, threshold, baseline }: SeriesWire,
  points: ReturnType<typeof drawnPoints>["points"],
): Series[] {
  const outcomes = outcomesOf(metric, points);
  const error = Math.max(0, ...points.map((point) => point?.max_sampling_error ?? 0));
  const constant = (label: string, color: string, value: number): Series => ({
    label,
    color,
    values: points.map(() => value),
    form: "dashed",
  });
  return [
    { label: t`Offered`, color: "--chart-rate", values: points.map((point) => point?.rate ?? null), form: "shade" },
    {
      label: nameWithError(t`Highest`, error),
      color: "--chart-rate",
      values: points.map((point) => point?.rate_max ?? null),
    },
    ...(outcomes === null
      ? []
      : [
          { label: t`Dropped here`, color: "--chart-icmp", values: outcomes.dropped },
          { label: (error > 0 ? "≈ " : "") + t`Passed`, color: "--chart-tcp", values: outcomes.passed },
        ]),
    constant(t`Threshold`, "--chart-threshold", threshold),
    ...(baseline === undefined ? [] : [constant(t`Normal`, "--chart-baseline", baseline)]),
  ];
}
