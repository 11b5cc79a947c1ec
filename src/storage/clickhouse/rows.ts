/** Records as rows of the tables; for the audit trail see audit-record.ts. */
import { type EdgeEvent, type EdgeWindow, REPORTED_STATES } from "../../edge/reports/edge-history.ts";
import { addressFromBytes } from "../../net/address.ts";
import { rowValues, type TotalRow, type TrafficSnapshot, type TrafficValues } from "../../traffic/traffic-history.ts";
import type { AttackRecord, Identified } from "../history-driver.ts";
import { TRAFFIC_MAXIMA } from "./schema.ts";

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

/** The columns of the lines below; `areKept`: with the maxima. */
export function trafficColumns(areKept: boolean): string {
  const columns = "host, outgoing, ts, seconds, pps, mbps, flows, in_attack, learned, baseline";
  return areKept ? `${columns}, ${TRAFFIC_MAXIMA.map(([name]) => name).join(", ")}` : columns;
}

interface Line {
  readonly series: string;
  readonly outgoing: number;
  readonly inAttack: number;
  readonly values: TrafficValues;
}

const NOTHING: TrafficValues = [0, 0, 0, Number.NaN, 0, 0, 0];

function line({ atSeconds, seconds }: TrafficSnapshot, { series, outgoing, inAttack, values }: Line, areKept: boolean) {
  const [pps, mbps, flows, baseline, ...maxima] = values;
  const learned = Number.isNaN(baseline) ? [0, 0] : [1, baseline];
  const fields = [series, outgoing, atSeconds, seconds, pps, mbps, flows, inAttack, ...learned];
  return `${(areKept ? [...fields, ...maxima] : fields).join("\t")}\n`;
}

/** The rows for the snapshot itself, and of its totals. */
export function tickLines(snapshot: TrafficSnapshot, areKept: boolean): string {
  const tick = { series: "", outgoing: false, values: NOTHING };
  return [tick, ...snapshot.totals]
    .map(({ series, outgoing, values }: TotalRow) =>
      line(snapshot, { series, outgoing: outgoing ? 1 : 0, inAttack: 0, values }, areKept),
    )
    .join("");
}

/** Rows from `from` up to `to` as tab-separated text: there are many, and one object per row would be slow. */
export function trafficLines(snapshot: TrafficSnapshot, from: number, to: number, areKept: boolean): string {
  const { addresses, outgoing, inAttack } = snapshot;
  let text = "";
  for (let row = from; row < to; row++) {
    const series = addressFromBytes(addresses, row * 16);
    const marks = { outgoing: outgoing[row] as number, inAttack: inAttack[row] as number };
    text += line(snapshot, { series, ...marks, values: rowValues(snapshot, row) }, areKept);
  }
  return text;
}
