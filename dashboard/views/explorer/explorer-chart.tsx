/** The chart of what was chosen, and beneath it the same in numbers. */
import { useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { PartTrafficWire } from "../../../src/http/wire/traffic/top-traffic.ts";
import type { TotalTrafficPointWire, TrafficPointWire } from "../../../src/http/wire/traffic/traffic.ts";
import { serviceNow } from "../../api/contact.ts";
import { t } from "../../language.ts";
import { Empty } from "../../parts/callout.tsx";
import { Chart, type Series } from "../../parts/chart.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { chooseRange } from "../../parts/range-choice.tsx";
import { linkTo } from "../../router.ts";
import { attackSpans } from "../../text/attack-spans.ts";
import {
  aligned,
  EARLIER_SECONDS,
  type Exploration,
  GROUPINGS,
  isPart,
  sumOf,
  type Unit,
} from "../../text/exploration.ts";
import { type ExplorerLine, lineTexts, type Values } from "../../text/explorer-line.ts";
import { isKept, type Term } from "../../text/filter.ts";
import { rateOf } from "../../text/format/numbers.ts";
import { emptySpans, recordedSpan } from "../../text/format/ranges.ts";
import { counted, DIRECTION_NAMES } from "../../text/format/words.ts";
import { highestText } from "../../text/highest.ts";

type RatePoint = TrafficPointWire | TotalTrafficPointWire;
/** The highest rates of a part of the traffic are not recorded. */
type Point = RatePoint | PartTrafficWire["points"][number];

export interface History {
  readonly available: boolean;
  readonly step_seconds?: number;
  readonly points: readonly Point[];
}

interface ExplorerChartProps {
  readonly exploration: Exploration;
  /** Those of the first histories; as many follow for the comparison. */
  readonly names: readonly string[];
  /** By origin, that of all traffic is the last. */
  readonly histories: readonly History[];
  /** Those of the range that the filter keeps. */
  readonly attacks: readonly AttackWire[];
  /** Terms of protocols: the others have no line. */
  readonly protocols: readonly Term[];
}

interface Line extends Series, ExplorerLine {
  /** It is drawn through its highest rates, not through its means. */
  readonly isOfMaxima?: boolean;
  /** It is a row of the table alone. */
  readonly isUndrawn?: boolean;
  /** The protocol that it is of. */
  readonly protocol?: string;
  /** An address to link to. */
  readonly host?: string;
}

const PROTOCOLS = [
  ["udp", "UDP"],
  ["tcp", "TCP"],
  ["icmp", "ICMP"],
] as const;
const COMPARED = { none: "", day: t`The day before, in all`, week: t`The week before, in all` } as const;

export function ExplorerChart({ exploration, names, histories, attacks, protocols }: ExplorerChartProps) {
  const { direction, unit, range, comparison } = exploration;
  const earlierSeconds = EARLIER_SECONDS[comparison];
  const step = Math.max(1, ...histories.map(({ step_seconds: seconds }) => seconds ?? 1));
  const { times, rows } = useMemo(
    () =>
      aligned(
        histories.map(({ points }, i) => ({
          points,
          earlierSeconds:
            i < names.length || (isPart(exploration.by) && i === histories.length - 1) ? 0 : earlierSeconds,
        })),
        step,
      ),
    [histories, step],
  );
  const lines = useMemo(
    () =>
      linesOf(exploration, names, rows).filter(
        ({ protocol }) => protocol === undefined || isKept(protocols, () => [protocol]),
      ),
    [exploration.isStacked, unit, names.join(), rows, protocols],
  );
  const span = useMemo(() => {
    const recorded = { times, points: times.map((_, i) => anyOf(rows, i)) };
    return recordedSpan(range, serviceNow(), { ...recorded, stepSeconds: step });
  }, [range, histories, times, rows, step]);
  const empty = useMemo(
    () => emptySpans({ times, points: times.map((_, i) => anyOf(rows, i)) }, span, step),
    [times, span],
  );
  const bands = useMemo(() => attackSpans(attacks, span), [attacks, span]);
  if (times.length === 0) {
    return (
      <Empty
        title={t`No history in this range`}
      >{t`Rates are recorded every few seconds while there is traffic.`}</Empty>
    );
  }
  const format = (value: number) => rateOf(unit, value);
  const drawn = lines.filter(({ isUndrawn }) => isUndrawn !== true);
  const label = t`${DIRECTION_NAMES[direction]} rates by ${GROUPINGS[exploration.by]}: ${drawn
    .map(({ label: name, values, maxima, isOfMaxima = false }) => {
      const most = isOfMaxima ? highestText(maxima ?? [], unit) : highestOf(values, format);
      return most === null ? t`${name}: nothing recorded` : t`${name} at most ${most}`;
    })
    .join(", ")}; ${counted(bands.length, "time span")} of attacks tinted`;
  return (
    <>
      <Chart
        label={label}
        times={times}
        series={drawn}
        format={format}
        range={span}
        empty={empty}
        spans={bands}
        heightPx={320}
        onBrush={chooseRange}
      />
      <DataTable
        label={t`Means, highest and last rates`}
        columns={columnsOf(unit)}
        rows={lines}
        rowKey={({ label: name }) => name}
      />
    </>
  );
}

function columnsOf(unit: Unit): readonly Column<Line>[] {
  return [
    {
      key: "name",
      title: t`Name`,
      cell: ({ label, host }) => (host === undefined ? label : <a href={linkTo(["hosts", host])}>{label}</a>),
    },
    { key: "mean", title: t`Mean`, cell: (line) => lineTexts(line, unit).mean, isNumber: true },
    { key: "highest", title: t`Highest`, cell: (line) => lineTexts(line, unit).highest, isNumber: true },
    { key: "last", title: t`Last`, cell: (line) => lineTexts(line, unit).last, isNumber: true },
  ];
}

function highestOf(values: Values, format: (value: number) => string): string | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : format(Math.max(...known));
}

function anyOf(rows: Rows, time: number): Point | null {
  return rows.map((row) => row[time] ?? null).find((point) => point !== null) ?? null;
}

type Rows = readonly (readonly (Point | null)[])[];

function linesOf({ by, unit, isStacked, comparison }: Exploration, names: readonly string[], rows: Rows): Line[] {
  const form = isStacked ? "stacked" : "line";
  if (isPart(by)) return partLines({ unit, form, comparison, names, rows });
  const own = rows.slice(0, names.length) as readonly (readonly (RatePoint | null)[])[];
  const lines =
    by === "protocol"
      ? protocolLines(own[0] ?? [], unit, form)
      : names.map((name, i): Line => {
          const maxima = own[i] ?? [];
          const [means, highest] = ratesOf(maxima, unit);
          return {
            label: name,
            color: `--chart-${i + 1}`,
            values: isStacked ? means : highest,
            means,
            maxima,
            isOfMaxima: !isStacked,
            form,
            ...(by === "host" && { host: name }),
          };
        });
  return [...lines, ...comparedLine(comparison, unit, rows.slice(names.length))];
}

interface PartLines {
  readonly unit: Unit;
  readonly form: "stacked" | "line";
  readonly comparison: Exploration["comparison"];
  readonly names: readonly string[];
  /** The chosen parts, the same of before, and all traffic. */
  readonly rows: Rows;
}

/** A part that is not among the largest of an interval has no record of it, and is then in what remains of the whole. */
function partLines({ unit, form, comparison, names, rows }: PartLines): Line[] {
  const base = unit === "flows_per_sec" ? "pps" : unit;
  const whole = (rows.at(-1) ?? []).map((point) => point?.[base] ?? null);
  const line = (label: string, color: string, means: Values): Line => {
    return { label, color, values: means, means, maxima: null, form };
  };
  const lines = names.map((name, i) =>
    line(
      name,
      `--chart-${i + 1}`,
      (rows[i] ?? []).map((point, at) => point?.[base] ?? (whole[at] == null ? null : 0)),
    ),
  );
  const rest = whole.map((all, at) =>
    all === null ? null : Math.max(0, all - (sumOf(lines.map(({ means }) => means[at] ?? null)) ?? 0)),
  );
  return [
    ...lines,
    line(t`Others, or not known`, "--chart-other", rest),
    ...comparedLine(comparison, base, rows.slice(names.length, -1)),
  ];
}

/** The sum of what was recorded before; none without a comparison. */
function comparedLine(comparison: Exploration["comparison"], unit: Unit, before: Rows): Line[] {
  if (comparison === "none" || before.length === 0) return [];
  const rate = (point: Point | null | undefined) =>
    point == null || (unit === "flows_per_sec" && !("flows_per_sec" in point)) ? null : (point as RatePoint)[unit];
  const means = (before[0] ?? []).map((_, i) => sumOf(before.map((part) => rate(part[i]))));
  const label = COMPARED[comparison];
  return [{ label, color: "--text-muted", values: means, means, maxima: null, form: "dashed" }];
}

function ratesOf(points: readonly (RatePoint | null)[], unit: Unit): [means: Values, maxima: Values] {
  return [points.map((point) => point?.[unit] ?? null), points.map((point) => point?.[`max_${unit}`] ?? null)];
}

/** Means by protocol, and the highest total of each step: that of a protocol is not recorded. */
function protocolLines(points: readonly (RatePoint | null)[], unit: Unit, form: "stacked" | "line"): Line[] {
  const part = (point: RatePoint | null, name: "udp" | "tcp" | "icmp") =>
    point === null || !("udp" in point) || unit === "flows_per_sec" ? null : point[name][unit];
  const line = (label: string, color: string, means: Values): Line => {
    return { label, color, values: means, means, maxima: null, form };
  };
  const parts = PROTOCOLS.map(([name, label]) => ({
    ...line(
      label,
      `--chart-${name}`,
      points.map((point) => part(point, name)),
    ),
    protocol: name,
  }));
  const others = points.map((point) => {
    if (point === null) return null;
    return Math.max(0, point[unit] - (sumOf(PROTOCOLS.map(([name]) => part(point, name))) ?? 0));
  });
  const [means, values] = ratesOf(points, unit);
  return [
    ...parts,
    { ...line(t`Other`, "--chart-other", others), protocol: "other" },
    { ...line(t`In all`, "--text", means), isUndrawn: true },
    { label: t`Highest in all`, color: "--text", values, means, maxima: points, isOfMaxima: true, isMaximaOnly: true },
  ];
}
