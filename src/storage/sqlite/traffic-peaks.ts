/** The highest rates of hosts and hostgroups over days, from the tiers of the traffic. */
import type { Database } from "bun:sqlite";
import {
  DAY_SECONDS,
  daysAbove,
  type HostPeaks,
  isPeakSeries,
  PEAK_HOSTS_MAX,
  type PeaksQuery,
  type TrafficPeaks,
} from "../../traffic/traffic-peaks.ts";
import { COARSE_TIER, HIGHEST, HOT } from "./traffic-tables.ts";

interface DayRow {
  readonly key: string;
  readonly outgoing: number;
  readonly day: number;
  readonly max_pps: number;
  readonly max_mbps: number;
  readonly max_flows: number;
}

/** The peaks of one series, by day. */
type ByDay = Map<number, readonly [pps: number, mbps: number, flows: number]>;

/** @param frontier from there on rows are in `hot` alone. */
export function trafficPeaks(db: Database, { fromMs, toMs }: PeaksQuery, frontier: number): TrafficPeaks {
  const [from, to] = [Math.ceil(fromMs / 1000), Math.ceil(toMs / 1000)];
  const parts = [
    { tier: COARSE_TIER, table: `cold_${COARSE_TIER}`, from, to: Math.min(to, frontier) },
    { tier: HOT, table: "hot", from: Math.max(from, frontier), to },
  ].filter((part) => part.from < part.to);
  const seconds = new Map<number, number>();
  const series = new Map<string, ByDay>();
  for (const { tier, table, ...range } of parts) {
    const time = `SELECT ts / ${DAY_SECONDS} AS day, sum(seconds) AS seconds FROM ticks
      WHERE tier = $tier AND ts >= $from AND ts < $to GROUP BY day`;
    for (const row of db.query(time).all({ tier, ...range }) as { day: number; seconds: number }[]) {
      seconds.set(row.day, (seconds.get(row.day) ?? 0) + row.seconds);
    }
    // `hot` is ordered by time, the tier by series.
    const rows = db.query<DayRow, typeof range>(`
      SELECT s.address AS key, s.outgoing, r.ts / ${DAY_SECONDS} AS day, ${HIGHEST}
      FROM ${tier === HOT ? `${table} r JOIN series s ON s.id = r.series` : `series s CROSS JOIN ${table} r ON r.series = s.id`}
      WHERE r.ts >= $from AND r.ts < $to AND r.in_attack = 0 GROUP BY s.id, day`);
    for (const row of rows.iterate(range)) if (isPeakSeries(row.key)) add(series, row);
  }
  const days = [...seconds].map(([day, sum]) => ({ day, seconds: sum })).sort((a, b) => a.day - b.day);
  const hosts = [...series].map(([name, byDay]) => peaksOf(name, byDay, daysAbove(days.length)));
  hosts.sort((a, b) => b.pps - a.pps || (a.key < b.key ? -1 : 1));
  return { days, hosts: hosts.slice(0, PEAK_HOSTS_MAX), leftOut: Math.max(0, hosts.length - PEAK_HOSTS_MAX) };
}

function add(series: Map<string, ByDay>, { key, outgoing, day, max_pps, max_mbps, max_flows }: DayRow): void {
  const name = `${outgoing}${key}`;
  const byDay: ByDay = series.get(name) ?? new Map();
  const [pps, mbps, flows] = byDay.get(day) ?? [0, 0, 0];
  series.set(name, byDay.set(day, [Math.max(pps, max_pps), Math.max(mbps, max_mbps), Math.max(flows, max_flows)]));
}

/** A day without traffic of a host counts as a peak of 0. */
function peaksOf(name: string, byDay: ByDay, above: number): HostPeaks {
  const days = [...byDay.values()];
  const high = (column: 0 | 1 | 2) => days.map((day) => day[column]).sort((a, b) => b - a)[above] ?? 0;
  return { key: name.slice(1), outgoing: name.startsWith("1"), pps: high(0), mbps: high(1), flowsPerSec: high(2) };
}
