/** Records as rows of the tables; for the audit trail see audit-record.ts. */
import { type EdgeEvent, type EdgeWindow, REPORTED_STATES } from "../../edge/reports/edge-history.ts";
import { addressFromBytes } from "../../net/address.ts";
import { rowValues, type TotalRow, type TrafficSnapshot, type TrafficValues } from "../../traffic/traffic-history.ts";
import type { AttackRecord, Identified } from "../history-driver.ts";
import { LATER_COLUMNS } from "./schema.ts";

export type Row = Readonly<Record<string, string | number>>;

export function attackRow({ attack, tenant }: AttackRecord, version: number): Row {
  const { id, group, target, startedAt, endedAt } = attack;
  const found = {
    id,
    tenant: tenant ?? "",
    hostgroup: group,
    target: target ?? "",
    started: startedAt,
    ended: endedAt ?? 0,
  };
  return { ...found, record: JSON.stringify(attack), version };
}

export function windowRow({ zone, node, atMs, seconds, counts }: EdgeWindow, version: number): Row {
  return { zone, node, at: atMs, seconds, ...counts, version };
}

export function sourceRows({ zone, node, atMs, sources }: EdgeWindow, version: number): Row[] {
  return sources.map(({ source, state, requests }) => ({
    zone,
    node,
    source,
    at: atMs,
    state: REPORTED_STATES.indexOf(state),
    requests,
    version,
  }));
}

export function eventRow({ id, record }: Identified<EdgeEvent>): Row {
  const { atMs, node, zone, kind, detail } = record;
  return { id, at: atMs, node, zone: zone ?? "", kind, detail };
}

/** The columns of the lines below. @param present of the later ones, those that the table has. */
export function trafficColumns(present: ReadonlySet<string>): string {
  const later = LATER_COLUMNS.map(([name]) => name).filter((name) => present.has(name));
  return ["host, outgoing, ts, seconds, pps, mbps, flows, in_attack, learned, baseline", ...later].join(", ");
}

interface Line {
  readonly series: string;
  readonly outgoing: number;
  readonly inAttack: number;
  readonly values: TrafficValues;
}

const NOTHING: TrafficValues = [0, 0, 0, Number.NaN, 0, 0, 0, 0, 0, 0];

function line(snapshot: TrafficSnapshot, { series, outgoing, inAttack, values }: Line, present: ReadonlySet<string>) {
  const { atSeconds, seconds } = snapshot;
  const [pps, mbps, flows, baseline, ...highest] = values;
  const learned = Number.isNaN(baseline) ? [0, 0] : [1, baseline];
  const later = LATER_COLUMNS.flatMap(([name], i) => (present.has(name) ? [highest[i] as number] : []));
  return `${[series, outgoing, atSeconds, seconds, pps, mbps, flows, inAttack, ...learned, ...later].join("\t")}\n`;
}

/** The rows for the snapshot itself, and of its totals. */
export function tickLines(snapshot: TrafficSnapshot, present: ReadonlySet<string>): string {
  const tick = { series: "", outgoing: false, values: NOTHING };
  return [tick, ...snapshot.totals]
    .map(({ series, outgoing, values }: TotalRow) =>
      line(snapshot, { series, outgoing: outgoing ? 1 : 0, inAttack: 0, values }, present),
    )
    .join("");
}

/** Rows from `from` up to `to` as tab-separated text: there are many, and one object per row would be slow. */
export function trafficLines(
  snapshot: TrafficSnapshot,
  { from, to }: { readonly from: number; readonly to: number },
  present: ReadonlySet<string>,
): string {
  const { addresses, outgoing, inAttack } = snapshot;
  let text = "";
  for (let row = from; row < to; row++) {
    const series = addressFromBytes(addresses, row * 16);
    const marks = { outgoing: outgoing[row] as number, inAttack: inAttack[row] as number };
    text += line(snapshot, { series, ...marks, values: rowValues(snapshot, row) }, present);
  }
  return text;
}
