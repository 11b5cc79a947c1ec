/** One host's rates over time, with its baseline and limits. */
import { useCallback, useMemo } from "preact/hooks";
import type { HostgroupRatesWire } from "../../../src/http/wire/traffic/hostgroup-rates.ts";
import type { TrafficPointWire, TrafficWire } from "../../../src/http/wire/traffic/traffic.ts";
import { serviceNow } from "../../api/contact.ts";
import { useKept, useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Empty, StorageOff } from "../../parts/callout.tsx";
import { Chart } from "../../parts/chart.tsx";
import { Segments } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { chooseRange, chosenRange, RangeChoice } from "../../parts/range-choice.tsx";
import { limitSeries, rateSeries } from "../../parts/rate-series.ts";
import { Show } from "../../parts/show.tsx";
import { useRecorded } from "../../parts/use-recorded.ts";
import { place, setQuery } from "../../router.ts";
import { rateOf } from "../../text/format/numbers.ts";
import { type Range, rangeQuery } from "../../text/format/ranges.ts";
import { DIRECTION_NAMES } from "../../text/format/words.ts";
import { type Base, highestText } from "../../text/highest.ts";

interface HostHistoryProps {
  readonly target: string;
  /** undefined: the host has no traffic now, so its group is not known. */
  readonly group: HostgroupRatesWire | undefined;
}

const EVERY_MS = 10_000;
/** The default period of recording. */
const STEP_SECONDS_MIN = 10;
const DIRECTIONS = [
  ["incoming", t`In`],
  ["outgoing", t`Out`],
] as const satisfies readonly (readonly [keyof typeof DIRECTION_NAMES, string])[];
const BASES = [
  ["pps", t`Packets`],
  ["mbps", t`Bits`],
  ["flows_per_sec", t`Flows`],
] as const satisfies readonly (readonly [Base, string])[];

export function HostHistory({ target, group }: HostHistoryProps) {
  const { query: chosen } = place.value;
  const direction = DIRECTIONS.find(([name]) => name === chosen.get("direction"))?.[0] ?? "incoming";
  const base = BASES.find(([name]) => name === chosen.get("unit"))?.[0] ?? "pps";
  const range = chosenRange();
  const path = useCallback(() => {
    const query = { key: target, direction, ...rangeQuery(range, serviceNow(), STEP_SECONDS_MIN) };
    return `/api/v1/traffic?${new URLSearchParams(query)}`;
  }, [target, direction, range]);
  const traffic = useResource<TrafficWire>(path, EVERY_MS);
  const loaded = useKept(traffic.state.value);
  return (
    <Panel
      title={t`History`}
      isWide
      actions={
        <div class="choices">
          <Segments
            label={t`Direction`}
            value={direction}
            options={DIRECTIONS}
            onChange={(next) => setQuery({ direction: next === "incoming" ? null : next })}
          />
          <Segments
            label={t`Unit`}
            value={base}
            options={BASES}
            onChange={(unit) => setQuery({ unit: unit === "pps" ? null : unit })}
          />
          <RangeChoice />
        </div>
      }
    >
      <Show loaded={loaded} what={t`history of its rates`} onRetry={() => void traffic.refresh()}>
        {(history) => {
          if (!history.available) return <StorageOff what={t`history`} />;
          if (history.points.length === 0) {
            return (
              <Empty
                title={t`No history in this range`}
              >{t`Rates are recorded every few seconds while the host has traffic. Select an earlier range, or wait.`}</Empty>
            );
          }
          return <Past target={target} history={history} base={base} group={group} range={range} />;
        }}
      </Show>
    </Panel>
  );
}

interface PastProps extends HostHistoryProps {
  readonly history: TrafficWire;
  readonly base: Base;
  readonly range: Range;
}

function Past({ target, history, base, group, range }: PastProps) {
  const { points, step_seconds: step = STEP_SECONDS_MIN, direction = "incoming" } = history;
  const { line, shown, empty } = useRecorded({ points, stepSeconds: step, range, mayBeSilent: true });
  const thresholds = direction === "incoming" ? group?.thresholds : group?.thresholds_out;
  const threshold = thresholds?.[base] ?? 0;
  const series = useMemo(
    () => [...rateSeries(base, line.points), ...limitSeries(base, line.points, threshold)],
    [line, base, threshold],
  );
  const spans = useMemo(() => attackSpans(points, step), [points, step]);
  const peak = highestText(points, base);
  return (
    <Chart
      label={t`${DIRECTION_NAMES[direction]} rate of ${target} over time, at most ${peak}; attacks are tinted`}
      times={line.times}
      series={series}
      format={(value) => rateOf(base, value)}
      spans={spans}
      range={shown}
      empty={empty}
      onBrush={chooseRange}
    />
  );
}

function attackSpans(points: readonly TrafficPointWire[], step: number): { from: number; to: number }[] {
  const spans: { from: number; to: number }[] = [];
  for (const point of points) {
    if (!point.in_attack) continue;
    const from = Date.parse(point.ts) / 1000;
    const last = spans.at(-1);
    if (last !== undefined && from - last.to <= step) last.to = from + step;
    else spans.push({ from, to: from + step });
  }
  return spans;
}
