/** A zone's requests over time, by decision and status. */
import { useCallback, useMemo } from "preact/hooks";
import type { EdgeHistoryWire } from "../../../src/http/wire/edge/history.ts";
import { serviceNow } from "../../api/contact.ts";
import { useKept, useResource } from "../../api/resource.ts";
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Empty, StorageOff } from "../../parts/callout.tsx";
import { Chart, type Series } from "../../parts/chart.tsx";
import { Segments } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { chooseRange, chosenRange, RangeChoice } from "../../parts/range-choice.tsx";
import { Show } from "../../parts/show.tsx";
import { useRecorded } from "../../parts/use-recorded.ts";
import { place, setQuery } from "../../router.ts";
import { scaled } from "../../text/format/numbers.ts";
import { type Range, rangeQuery } from "../../text/format/ranges.ts";
import { EdgeNodeChoice } from "./edge-node-choice.tsx";

const EVERY_MS = 15_000;
/** Three windows of a node. */
const STEP_SECONDS_MIN = 30;

type Point = EdgeHistoryWire["points"][number];
type Shown = "requests" | "verdicts" | "answers";

const SHOWN = [
  ["requests", t`Requests`],
  ["verdicts", t`Verdicts`],
  ["answers", t`Answers`],
] as const;

/** Lines of requests per second; decisions that never occurred have no line. */
const LINES: Readonly<Record<Shown, readonly (readonly [keyof Point, string, string])[]>> = {
  requests: [
    ["requests", t`Requests`, "--chart-rate"],
    ["h3_requests", "HTTP/3", "--chart-icmp"],
  ],
  verdicts: [
    ["denied", t`Denied`, "--chart-threshold"],
    ["challenged", t`Challenged`, "--chart-tcp"],
    ["would_deny", t`Would be denied`, "--chart-icmp"],
    ["would_challenge", t`Would be challenged`, "--chart-other"],
    ["cleared", t`Passed`, "--chart-baseline"],
  ],
  answers: [
    ["status_2xx", "2xx", "--chart-baseline"],
    ["status_3xx", "3xx", "--chart-udp"],
    ["status_4xx", "4xx", "--chart-tcp"],
    ["status_5xx", "5xx", "--chart-threshold"],
  ],
};

export function EdgeHistory({ zone }: { readonly zone: string }) {
  const shown = SHOWN.find(([name]) => name === place.value.query.get("what"))?.[0] ?? "requests";
  const range = chosenRange();
  const node = place.value.query.get("node") ?? "";
  const path = useCallback(() => {
    const query = { zone, ...rangeQuery(range, serviceNow(), STEP_SECONDS_MIN), ...(node !== "" && { node }) };
    return `/api/v1/edge/history?${new URLSearchParams(query)}`;
  }, [zone, node, range]);
  const history = useResource<EdgeHistoryWire>(path, EVERY_MS);
  const loaded = useKept(history.state.value);
  return (
    <Panel
      title={t`History`}
      isWide
      actions={
        <div class="choices">
          <Segments
            label={t`What`}
            value={shown}
            options={SHOWN}
            onChange={(what) => setQuery({ what: what === "requests" ? null : what })}
          />
          <RangeChoice />
        </div>
      }
    >
      {isUnscoped() && (
        <div class="filters">
          <EdgeNodeChoice node={node} onChange={(chosen) => setQuery({ node: chosen })} />
        </div>
      )}
      <Show loaded={loaded} what={t`history of the zone`} onRetry={() => void history.refresh()}>
        {({ available, points, step_seconds: step = STEP_SECONDS_MIN }) => {
          if (!available) return <StorageOff what={t`history`} />;
          if (points.length === 0) {
            return (
              <Empty
                title={t`No history in this range`}
              >{t`The history comes from the nodes' reports. Select an earlier range, or wait.`}</Empty>
            );
          }
          // Another set of lines needs another chart.
          return <Past key={shown} zone={zone} points={points} step={step} shown={shown} range={range} />;
        }}
      </Show>
    </Panel>
  );
}

interface PastProps {
  readonly zone: string;
  readonly points: readonly Point[];
  readonly step: number;
  readonly shown: Shown;
  readonly range: Range;
}

function Past({ zone, points, step, shown, range }: PastProps) {
  const { line, shown: whole, empty } = useRecorded({ points, stepSeconds: step, range, mayBeSilent: true });
  const series = useMemo(() => seriesOf(line.points, shown), [line, shown]);
  if (series.length === 0) return <Empty title={t`None in this range`}>{t`Its nodes let everything pass.`}</Empty>;
  const peak = Math.max(...points.map((point) => rate(point, "requests")));
  return (
    <Chart
      label={t`Requests a second to ${zone} over time, at most ${rateText(peak)}`}
      times={line.times}
      series={series}
      format={rateText}
      range={whole}
      empty={empty}
      onBrush={chooseRange}
    />
  );
}

function seriesOf(points: readonly (Point | null)[], shown: Shown): Series[] {
  return LINES[shown].flatMap(([key, label, color]): Series[] => {
    const values = points.map((point) => (point === null ? null : rate(point, key)));
    return values.some((value) => (value ?? 0) > 0) ? [{ label, color, values }] : [];
  });
}

/** Per second, summed over all nodes. */
function rate(point: Point, key: keyof Point): number {
  return point.window_seconds === 0 ? 0 : Number(point[key]) / point.window_seconds;
}

function rateText(value: number): string {
  return t`${scaled(value)} req/s`;
}
