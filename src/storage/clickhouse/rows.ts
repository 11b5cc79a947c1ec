/** Records as rows of the tables; for the audit trail see audit-record.ts. */
import { type EdgeEvent, type EdgeWindow, REPORTED_STATES } from "../../edge/reports/edge-history.ts";
import { addressFromBytes } from "../../net/address.ts";
import { TRAFFIC_VALUES, type TrafficSnapshot } from "../../traffic/traffic-history.ts";
import type { AttackRecord, Identified } from "../history-driver.ts";

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

/** The row for the snapshot itself. */
export function tickLine({ atSeconds, seconds }: TrafficSnapshot): string {
  return `\t0\t${atSeconds}\t${seconds}\t0\t0\t0\t0\t0\t0\n`;
}

/** Rows from `from` up to `to` as tab-separated text: there are many, and one object per row would be slow. */
export function trafficLines(snapshot: TrafficSnapshot, from: number, to: number): string {
  const { atSeconds, seconds, addresses, outgoing, inAttack, values } = snapshot;
  let text = "";
  for (let row = from; row < to; row++) {
    const at = row * TRAFFIC_VALUES;
    const baseline = values[at + 3] as number;
    const learned = Number.isNaN(baseline) ? "0\t0" : `1\t${baseline}`;
    const host = addressFromBytes(addresses, row * 16);
    const rates = `${values[at]}\t${values[at + 1]}\t${values[at + 2]}`;
    text += `${host}\t${outgoing[row]}\t${atSeconds}\t${seconds}\t${rates}\t${inAttack[row]}\t${learned}\n`;
  }
  return text;
}
