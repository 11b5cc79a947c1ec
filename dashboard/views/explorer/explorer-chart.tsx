/** The chart of what was chosen, and beneath it the same in numbers. */
import { useMemo } from "preact/hooks";
import type { TotalTrafficPointWire, TrafficPointWire } from "../../../src/http/wire/traffic/traffic.ts";
import { serviceNow } from "../../api/contact.ts";
import { Empty } from "../../parts/callout.tsx";
import { Chart, type Series } from "../../parts/chart.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { linkTo } from "../../router.ts";
import { aligned, EARLIER_SECONDS, type Exploration, sumOf, type Unit } from "../../text/exploration.ts";
import { rateOf } from "../../text/format/numbers.ts";
import { rangeSpan } from "../../text/format/ranges.ts";
import { DIRECTION_NAMES } from "../../text/format/words.ts";

type Point = TrafficPointWire | TotalTrafficPointWire;

export interface History {
  readonly available: boolean;
  readonly step_seconds?: number;
  readonly points: readonly Point[];
}

export interface ExplorerChartProps {
  readonly exploration: Exploration;
  /** Those of the first histories; as many follow for the comparison. */
  readonly names: readonly string[];
  readonly histories: readonly History[];
}

interface Line extends Series {
  /** A name of the choice, to link to; absent for parts of a sum. */
  readonly host?: string;
}

const PROTOCOLS = [
  ["udp", "UDP"],
  ["tcp", "TCP"],
  ["icmp", "ICMP"],
] as const;
const COMPARED = { none: "", day: "The day before, in all", week: "The week before, in all" } as const;

export function ExplorerChart({ exploration, names, histories }: ExplorerChartProps) {
  const { direction, unit, range, comparison } = exploration;
  const earlierSeconds = EARLIER_SECONDS[comparison];
  const step = Math.max(1, ...histories.map(({ step_seconds: seconds }) => seconds ?? 1));
  const { times, rows } = useMemo(
    () =>
      aligned(
        histories.map(({ points }, i) => ({ points, earlierSeconds: i < names.length ? 0 : earlierSeconds })),
        step,
      ),
    [histories, step],
  );
  const lines = useMemo(() => linesOf(exploration, names, rows), [exploration.isStacked, unit, names.join(), rows]);
  const span = useMemo(() => rangeSpan(range, serviceNow()), [range, histories]);
  if (times.length === 0) {
    return <Empty title="No history in this range">Rates are recorded every few seconds while there is traffic.</Empty>;
  }
  const format = (value: number) => rateOf(unit, value);
  const label = `${DIRECTION_NAMES[direction]} rates by ${exploration.by}: ${lines
    .map(({ label: name, values }) => `${name} at most ${format(highest(values))}`)
    .join(", ")}`;
  return (
    <>
      <Chart label={label} times={times} series={lines} format={format} range={span} heightPx={320} />
      <DataTable
        label="The same in numbers"
        columns={columnsOf(unit)}
        rows={lines}
        rowKey={({ label: name }) => name}
      />
    </>
  );
}

function columnsOf(unit: Unit): readonly Column<Line>[] {
  const known = (values: readonly (number | null)[]) => values.filter((value) => value !== null);
  const mean = (values: readonly (number | null)[]) => (sumOf(values) ?? 0) / Math.max(1, known(values).length);
  return [
    {
      key: "name",
      title: "Name",
      cell: ({ label, host }) => (host === undefined ? label : <a href={linkTo(["hosts", host])}>{label}</a>),
    },
    { key: "mean", title: "Mean", cell: ({ values }) => rateOf(unit, mean(values)), isNumber: true },
    { key: "highest", title: "Highest", cell: ({ values }) => rateOf(unit, highest(values)), isNumber: true },
    { key: "last", title: "Last", cell: ({ values }) => rateOf(unit, known(values).at(-1) ?? 0), isNumber: true },
  ];
}

function highest(values: readonly (number | null)[]): number {
  return Math.max(0, ...values.map((value) => value ?? 0));
}

type Rows = readonly (readonly (Point | null)[])[];

function linesOf({ by, unit, isStacked, comparison }: Exploration, names: readonly string[], rows: Rows): Line[] {
  const form = isStacked ? "stacked" : "line";
  const rate = isStacked ? unit : (`max_${unit}` as const);
  const first = rows.slice(0, names.length);
  const lines: Line[] =
    by === "protocol"
      ? protocolLines(first[0] ?? [], unit, form)
      : names.map((name, i) => ({
          label: name,
          color: `--chart-${i + 1}`,
          values: (first[i] ?? []).map((point) => point?.[rate] ?? null),
          form,
          ...(by === "host" && { host: name }),
        }));
  const before = rows.slice(names.length);
  if (comparison === "none" || before.length === 0) return lines;
  const values = (before[0] ?? []).map((_, i) => sumOf(before.map((part) => part[i]?.[unit] ?? null)));
  return [...lines, { label: COMPARED[comparison], color: "--text-muted", values, form: "dashed" }];
}

/** Means by protocol, and the highest total of each step. */
function protocolLines(points: readonly (Point | null)[], unit: Unit, form: "stacked" | "line"): Line[] {
  const part = (point: Point | null, name: "udp" | "tcp" | "icmp") =>
    point === null || !("udp" in point) || unit === "flows_per_sec" ? null : point[name][unit];
  const parts = PROTOCOLS.map(
    ([name, label]): Line => ({
      label,
      color: `--chart-${name}`,
      values: points.map((point) => part(point, name)),
      form,
    }),
  );
  const others = points.map((point) => {
    if (point === null) return null;
    return Math.max(0, point[unit] - (sumOf(PROTOCOLS.map(([name]) => part(point, name))) ?? 0));
  });
  return [
    ...parts,
    { label: "Other", color: "--chart-other", values: others, form },
    { label: "Highest in all", color: "--text", values: points.map((point) => point?.[`max_${unit}`] ?? null) },
  ];
}
