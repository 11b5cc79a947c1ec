/**
 * The incoming and outgoing traffic of the chosen range by protocol, from the history; with storage off what this page
 * has seen since it was opened.
 */
import { useCallback, useMemo } from "preact/hooks";
import type { TotalTrafficPointWire, TotalTrafficWire } from "../../../src/http/wire/traffic/traffic.ts";
import type { AttacksIn } from "../../api/attacks-in.ts";
import { serviceNow } from "../../api/contact.ts";
import { type Loaded, useResource } from "../../api/resource.ts";
import { groupRates, wholeStatus } from "../../api/running.ts";
import {
  type Direction,
  PROTOCOLS,
  type Protocol,
  type TracePoint,
  total,
  trace,
  type Unit,
} from "../../api/traffic-trace.ts";
import { t, tx } from "../../language.ts";
import { Chart, type Series } from "../../parts/chart.tsx";
import { Segments } from "../../parts/field.tsx";
import { chooseRange } from "../../parts/range-choice.tsx";
import { useRecorded } from "../../parts/use-recorded.ts";
import { place, setQuery } from "../../router.ts";
import { attackSpans } from "../../text/attack-spans.ts";
import { bitRate, packetRate, percent, wholeNumber } from "../../text/format/numbers.ts";
import { type Range, rangeQuery, rangeText } from "../../text/format/ranges.ts";
import { duration } from "../../text/format/times.ts";
import { counted, DIRECTION_NAMES } from "../../text/format/words.ts";
import { highestName, highestText } from "../../text/highest.ts";

const PROTOCOL_NAMES: Readonly<Record<Protocol, string>> = { udp: "UDP", tcp: "TCP", icmp: "ICMP", other: t`Other` };
const UNITS = [
  ["pps", t`Packets`],
  ["mbps", t`Bits`],
] as const;
const EVERY_MS = 4000;
/** The default period of recording. */
const STEP_SECONDS_MIN = 10;

interface TotalHistory {
  readonly incoming: Loaded<TotalTrafficWire>;
  readonly outgoing: Loaded<TotalTrafficWire>;
}

/** Read beside everything else, so that the first picture has it. */
export function useTotalHistory(range: Range, hostgroup: string | null = null): TotalHistory {
  return { incoming: useTotal("incoming", range, hostgroup), outgoing: useTotal("outgoing", range, hostgroup) };
}

function useTotal(direction: Direction, range: Range, hostgroup: string | null): Loaded<TotalTrafficWire> {
  const path = useCallback(() => {
    const query = rangeQuery(range, serviceNow(), STEP_SECONDS_MIN);
    const only = hostgroup === null ? {} : { hostgroup };
    return `/api/v1/traffic/total?${new URLSearchParams({ direction, ...query, ...only })}`;
  }, [direction, range, hostgroup]);
  return useResource<TotalTrafficWire>(path, EVERY_MS).state.value;
}

interface TrafficNowProps {
  readonly history: TotalHistory;
  readonly range: Range;
  /** Those of the range that the filter keeps. */
  readonly attacks: AttacksIn;
  /** null: the rates are of all hosts. */
  readonly hostgroup: string | null;
}

export function TrafficNow({ history, range, attacks, hostgroup }: TrafficNowProps) {
  const unit = UNITS.find(([name]) => name === place.value.query.get("unit"))?.[0] ?? "pps";
  const { known, newest } = attacks;
  const past = (direction: Direction) => {
    const loaded = history[direction];
    return loaded.kind === "ready" && loaded.data.available ? loaded.data : null;
  };
  const isSilent =
    trace.value.every(({ outgoing }) => total(outgoing, unit) === 0) && (past("outgoing")?.points.length ?? 0) === 0;
  const chart = (direction: Direction) => {
    const recorded = past(direction);
    return recorded === null ? (
      <TraceChart direction={direction} unit={unit} />
    ) : (
      <HourChart {...{ direction, unit, recorded, range, known, hostgroup }} />
    );
  };
  return (
    <>
      <div class="filters">
        <Segments
          label={t`Unit`}
          value={unit}
          options={UNITS}
          onChange={(next) => setQuery({ unit: next === "pps" ? null : next })}
        />
        <span class="muted">
          {past("incoming") !== null &&
            t`Tinted: attacks${newest === null ? "" : t`, the newest ${wholeNumber(newest)}`}. Drag across a chart to choose a time range.`}
        </span>
      </div>
      <div class={isSilent ? "" : "pair"}>
        {chart("incoming")}
        {!isSilent && chart("outgoing")}
      </div>
      {isSilent && (
        <p class="muted">{tx`Outgoing: ${isOutgoingCounted() ? t`nothing is sent.` : tx`it is not counted: no hostgroup has ${<code>thresholds_outgoing</code>}.`}`}</p>
      )}
    </>
  );
}

function isOutgoingCounted(): boolean {
  const { value } = groupRates.state;
  return value.kind === "ready" && value.data.hostgroups.some(({ thresholds_out: out }) => out !== undefined);
}

interface ChartProps {
  readonly direction: Direction;
  readonly unit: Unit;
}

function formatOf(unit: Unit): (value: number) => string {
  return unit === "pps" ? packetRate : bitRate;
}

export function nowTitle(last: TracePoint | undefined, { direction, unit }: ChartProps): string {
  const now = last === undefined ? 0 : total(last[direction], unit);
  const link = linkMbps(unit);
  const share = link === null ? "" : t`, ${percent(now / link)} of the link`;
  return t`${DIRECTION_NAMES[direction]}: ${formatOf(unit)(now)} now${share}`;
}

/** null: it is not known, or the unit is not that of a link. */
function linkMbps(unit: Unit): number | null {
  return unit === "mbps" ? (wholeStatus()?.capture.link_mbps ?? null) : null;
}

interface HourChartProps extends ChartProps {
  readonly recorded: TotalTrafficWire;
  readonly range: Range;
  /** The attacks of the range. */
  readonly known: AttacksIn["known"];
  /** null, or absent: all. */
  readonly hostgroup?: string | null;
  /** On the wall display: its height. It is large, and nothing can be chosen. */
  readonly wallPx?: number;
}

/** Means by protocol, and the highest total of each step. */
export function HourChart({ direction, unit, recorded, range, known, hostgroup = null, wallPx }: HourChartProps) {
  const { points, step_seconds: step = STEP_SECONDS_MIN } = recorded;
  const { line, shown, empty } = useRecorded({ points, stepSeconds: step, range });
  const link = linkMbps(unit);
  const series = useMemo(() => hourSeries(line.points, { unit, link }), [line, unit, link]);
  const peak = highestText(points, unit) ?? formatOf(unit)(0);
  const spans = useMemo(() => attackSpans(known, shown), [known, shown]);
  const title =
    typeof range === "string" && hostgroup === null
      ? nowTitle(trace.value.at(-1), { direction, unit })
      : `${DIRECTION_NAMES[direction]}: ${points.length === 0 ? t`nothing recorded` : t`at most ${peak}`}`;
  return (
    <div>
      <h3 class="number">{title}</h3>
      <Chart
        label={t`${title}; by protocol, ${rangeText(range)}, at most ${peak}; ${counted(spans.length, "time span")} of attacks tinted`}
        times={line.times}
        series={series}
        format={formatOf(unit)}
        range={shown}
        empty={empty}
        spans={spans}
        {...(wallPx !== undefined ? { heightPx: wallPx, fontPx: WALL_FONT_PX } : { onBrush: chooseRange })}
      />
    </div>
  );
}

/** Readable from some metres. */
const WALL_FONT_PX = 20;

interface HourScale {
  readonly unit: Unit;
  /** null: no line is drawn. */
  readonly link: number | null;
}

function hourSeries(points: readonly (TotalTrafficPointWire | null)[], { unit, link }: HourScale): Series[] {
  const mean = (point: TotalTrafficPointWire, protocol: Protocol) =>
    protocol === "other"
      ? Math.max(0, point[unit] - point.udp[unit] - point.tcp[unit] - point.icmp[unit])
      : point[protocol][unit];
  const stacked = PROTOCOLS.map(
    (protocol): Series => ({
      label: PROTOCOL_NAMES[protocol],
      color: `--chart-${protocol}`,
      values: points.map((point) => (point === null ? null : mean(point, protocol))),
      form: "stacked",
    }),
  );
  const highest = points.map((point) => point?.[`max_${unit}`] ?? null);
  const lines: Series[] = [{ label: highestName(t`Highest`, points, unit), color: "--text", values: highest }];
  if (link !== null) {
    lines.push({ label: t`Link`, color: "--chart-threshold", values: points.map(() => link), form: "dashed" });
  }
  return [...stacked, ...lines];
}

function TraceChart({ direction, unit }: ChartProps) {
  const points = trace.value;
  const last = points.at(-1);
  const title = nowTitle(last, { direction, unit });
  return (
    <div>
      <h3 class="number">{title}</h3>
      <Chart
        label={t`${title}; by protocol, the last ${duration((last?.at ?? 0) - (points[0]?.at ?? 0))}`}
        times={points.map(({ at }) => at)}
        series={PROTOCOLS.map(
          (protocol): Series => ({
            label: PROTOCOL_NAMES[protocol],
            color: `--chart-${protocol}`,
            values: points.map((point) => point[direction][unit][protocol]),
            form: "stacked",
          }),
        )}
        format={formatOf(unit)}
      />
    </div>
  );
}
