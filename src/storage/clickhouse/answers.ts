/**
 * The queries in ClickHouse's SQL. Each counts a record once, even if it is stored several times or on several shards.
 */

import { NO_ATTACK_FILTERS } from "../../detection/attack/attack.ts";
import {
  EDGE_COUNTERS,
  type EdgeCounts,
  type EdgeEvent,
  type EdgeHistoryPoint,
  type EdgeSourceTotal,
  REPORTED_STATES,
} from "../../edge/reports/edge-history.ts";
import { HISTORY_ROWS_MAX } from "../../limits.ts";
import type { TrafficPoint } from "../../traffic/traffic-history.ts";
import { partPrefix } from "../../traffic/traffic-parts.ts";
import { DAY_SECONDS, daysAbove, type HostPeaks, PEAK_HOSTS_MAX } from "../../traffic/traffic-peaks.ts";
import { attackOfRecord } from "../attack-record.ts";
import { type AuditRow, auditEventOf } from "../audit-record.ts";
import type { AnswerTo, HistoryQuery, QueryName } from "../history-driver.ts";
import { literal, sql } from "./literal.ts";
import { LATER_COLUMNS } from "./schema.ts";
import { targetCondition } from "./targets.ts";

/** Runs a query and returns its rows. */
type Select = (query: string) => Promise<unknown[]>;

interface Tables {
  /** As the queries write it. */
  readonly database: string;
  /** The later columns of the traffic that its table has. */
  readonly laterColumns: ReadonlySet<string>;
}

type Answers = {
  readonly [N in QueryName]: (question: HistoryQuery<N>, select: Select, tables: Tables) => Promise<AnswerTo<N>>;
};

export const ANSWERS: Answers = {
  async auditEvents({ range, filters, tenant }, select, { database }) {
    const conditions = [sql`at >= ${range.fromMs} AND at <= ${range.toMs}`];
    const { action, result, operator, target, tenant: named } = filters;
    const texts = Object.entries({ action, result, operator, tenant });
    for (const [column, value] of [...texts, ["tenant", named] as const]) {
      if (value !== null) conditions.push(`${column} = ${literal(value)}`);
    }
    if (target !== null) conditions.push(targetCondition("target", target));
    const rows = await select(`
      SELECT at, action, result, operator, role, tenant, target, target_type, reason, source, ban_state, dry_run
      FROM ${database}.audit WHERE ${conditions.join(" AND ")}
      ORDER BY at DESC, id DESC LIMIT 1 BY id LIMIT ${HISTORY_ROWS_MAX}`);
    return (rows as AuditRow[]).map(auditEventOf);
  },

  async endedAttacks({ range, toId = null, filters = NO_ATTACK_FILTERS, tenant = null, limit }, select, { database }) {
    const ends = `SELECT id, argMax(ended, version) AS last_end, argMax(target, version) AS last_target,
      argMax(tenant, version) AS last_tenant, argMax(hostgroup, version) AS last_group FROM ${database}.attacks GROUP BY id`;
    const conditions = ["last_end > 0"];
    if (range !== undefined) conditions.push(sql`last_end >= ${range.fromMs} AND last_end <= ${range.toMs}`);
    if (range !== undefined && toId !== null) conditions.push(sql`(last_end < ${range.toMs} OR id <= ${toId})`);
    const { target, group, tenant: named } = filters;
    if (target !== null) conditions.push(targetCondition("last_target", target));
    if (group !== null) conditions.push(sql`last_group = ${group}`);
    for (const owner of [tenant, named]) if (owner !== null) conditions.push(sql`last_tenant = ${owner}`);
    const found = (await select(
      `SELECT id FROM (${ends}) WHERE ${conditions.join(" AND ")} ORDER BY last_end DESC, id DESC LIMIT ${literal(limit)}`,
    )) as { id: string }[];
    if (found.length === 0) return [];
    const ids = found.map(({ id }) => id);
    const rows = (await select(
      `SELECT id, argMax(record, version) AS last_record FROM ${database}.attacks
      WHERE id IN (${ids.map(literal).join(", ")}) GROUP BY id`,
    )) as { id: string; last_record: string }[];
    const records = new Map(rows.map(({ id, last_record: record }) => [id, record]));
    return ids.flatMap((id) => records.get(id) ?? []).map(attackOfRecord);
  },

  async endedAttack({ id }, select, { database }) {
    const rows = (await select(`
      SELECT argMax(ended, version) AS last_end, argMax(record, version) AS last_record
      FROM ${database}.attacks WHERE ${sql`id = ${id}`} GROUP BY id`)) as { last_end: number; last_record: string }[];
    const [row] = rows;
    return row === undefined || Number(row.last_end) === 0 ? null : attackOfRecord(row.last_record);
  },

  async trafficPoints({ key, direction, fromMs, toMs, stepSeconds }, select, { database, laterColumns }) {
    const highest = LATER_COLUMNS.map(
      ([name, otherwise]) => `max(${laterColumns.has(name) ? name : otherwise}) AS h_${name}`,
    ).join(", ");
    const over = (name: string, as: string) => `maxIf(h_${name}, host != '') AS ${as}`;
    const outgoing = direction === "outgoing" ? 1 : 0;
    const [from, to] = [Math.ceil(fromMs / 1000), Math.ceil(toMs / 1000)];
    const once = `
      SELECT host, ts, max(seconds) AS s, max(pps) AS p, max(mbps) AS m, max(flows) AS f, max(in_attack) AS a,
        max(learned) AS l, max(baseline) AS b, ${highest}
      FROM ${database}.traffic
      WHERE ${sql`host IN ('', ${key}) AND (host = '' OR outgoing = ${outgoing}) AND ts >= ${from} AND ts < ${to}`}
      GROUP BY host, ts`;
    const rows = await select(`
      SELECT intDiv(ts, ${stepSeconds}) * ${stepSeconds} AS atSeconds, sumIf(s, host = '') AS time,
        sumIf(p * s, host != '') / time AS pps, sumIf(m * s, host != '') / time AS mbps,
        sumIf(f * s, host != '') / time AS flowsPerSec, maxIf(a, host != '') AS attacked,
        sumIf(l, host != '') AS learned, sumIf(b, host != '') AS baselines,
        ${over("max_pps", "maxPps")}, ${over("max_mbps", "maxMbps")}, ${over("max_flows", "maxFlowsPerSec")},
        ${over("dev_pps", "deviationPps")}, ${over("dev_mbps", "deviationMbps")},
        ${over("dev_flows", "deviationFlowsPerSec")}
      FROM (${once}) GROUP BY atSeconds HAVING countIf(host != '') > 0 ORDER BY atSeconds`);
    return (rows as (TrafficPoint & StoredMarks)[]).map((row) => ({
      atSeconds: row.atSeconds,
      seconds: row.time,
      pps: row.pps,
      mbps: row.mbps,
      flowsPerSec: row.flowsPerSec,
      maxPps: row.maxPps,
      maxMbps: row.maxMbps,
      maxFlowsPerSec: row.maxFlowsPerSec,
      deviationPps: row.deviationPps,
      deviationMbps: row.deviationMbps,
      deviationFlowsPerSec: row.deviationFlowsPerSec,
      inAttack: row.attacked !== 0,
      baselinePps: row.learned === 0 ? null : row.baselines / row.learned,
    }));
  },

  async trafficTop({ by, fromMs, toMs, limit }, select, { database }) {
    const range = sql`ts >= ${Math.ceil(fromMs / 1000)} AND ts < ${Math.ceil(toMs / 1000)}`;
    const prefix = partPrefix(by);
    const ofParts = sql`startsWith(host, ${prefix}) AND outgoing = 0`;
    const once = (condition: string) => `
      SELECT host, ts, max(seconds) AS s, max(pps) AS p, max(mbps) AS m FROM ${database}.traffic
      WHERE ${condition} AND ${range} GROUP BY host, ts`;
    const times = (await select(`SELECT sum(s) AS time FROM (${once("host = ''")})`)) as { time: number }[];
    const time = Number(times[0]?.time ?? 0);
    const rows = await select(`
      SELECT host, sum(p * s) AS packets, sum(m * s) AS megabits FROM (${once(ofParts)})
      GROUP BY host ORDER BY megabits DESC, host LIMIT ${literal(limit)}`);
    return (rows as { host: string; packets: number; megabits: number }[]).map(({ host, packets, megabits }) => ({
      key: host.slice(prefix.length),
      pps: packets / time,
      mbps: megabits / time,
    }));
  },

  async trafficPeaks({ fromMs, toMs }, select, { database, laterColumns }) {
    const range = sql`ts >= ${Math.ceil(fromMs / 1000)} AND ts < ${Math.ceil(toMs / 1000)}`;
    const times = (await select(`
      SELECT intDiv(ts, ${DAY_SECONDS}) AS day, sum(s) AS seconds
      FROM (SELECT ts, max(seconds) AS s FROM ${database}.traffic WHERE host = '' AND ${range} GROUP BY ts)
      GROUP BY day ORDER BY day`)) as { day: number; seconds: number }[];
    const days = times.map(({ day, seconds }) => ({ day: Number(day), seconds: Number(seconds) }));
    const highest = ["pps", "mbps", "flows"].map((name) => {
      const [later, otherwise] = LATER_COLUMNS.find(([column]) => column === `max_${name}`) ?? [name, name];
      return `max(${laterColumns.has(later) ? later : otherwise}) AS d_${name}`;
    });
    const at = daysAbove(days.length) + 1;
    const high = (name: string, as: string) => `arrayElement(arrayReverseSort(groupArray(d_${name})), ${at}) AS ${as}`;
    const rows = (await select(`
      SELECT host AS key, outgoing, ${high("pps", "pps")}, ${high("mbps", "mbps")}, ${high("flows", "flowsPerSec")}
      FROM (
        SELECT host, outgoing, intDiv(ts, ${DAY_SECONDS}) AS day, ${highest.join(", ")} FROM ${database}.traffic
        WHERE host != '' AND in_attack = 0 AND ${range}
          AND (startsWith(host, 'hostgroup: ') OR NOT match(host, '^(total|by |hostgroup )'))
        GROUP BY host, outgoing, day)
      GROUP BY host, outgoing ORDER BY pps DESC, key LIMIT ${PEAK_HOSTS_MAX + 1}`)) as (Omit<HostPeaks, "outgoing"> & {
      outgoing: number;
    })[];
    const hosts = rows.map((row) => ({ ...row, outgoing: Number(row.outgoing) === 1 }));
    return { days, hosts: hosts.slice(0, PEAK_HOSTS_MAX), leftOut: Math.max(0, hosts.length - PEAK_HOSTS_MAX) };
  },

  async edgePoints({ zone, node, fromMs, toMs, stepSeconds }, select, { database }) {
    const conditions = edgeConditions({ zone, node }, sql`at >= ${fromMs} AND at < ${toMs}`);
    const once = `
      SELECT at, node, argMax(seconds, version) AS s, ${EDGE_COUNTERS.map((name, i) => `argMax(${name}, version) AS c${i}`).join(", ")}
      FROM ${database}.edge_windows WHERE ${conditions} GROUP BY at, node`;
    const byNode = `
      SELECT intDiv(at, ${stepSeconds * 1000}) AS bucket, node, sum(s) AS time, ${EDGE_COUNTERS.map((_, i) => `sum(c${i}) AS n${i}`).join(", ")}
      FROM (${once}) GROUP BY bucket, node`;
    const rows = await select(`
      SELECT bucket, count() AS nodes, max(time) AS longest, ${EDGE_COUNTERS.map((name, i) => `sum(n${i}) AS ${name}`).join(", ")}
      FROM (${byNode}) GROUP BY bucket ORDER BY bucket`);
    return (rows as (EdgeCounts & { bucket: number; nodes: number; longest: number })[]).map(
      ({ bucket, nodes, longest, ...counts }): EdgeHistoryPoint => ({
        atSeconds: bucket * stepSeconds,
        nodes,
        seconds: longest,
        counts,
      }),
    );
  },

  async edgeSources({ zone, node, state, fromMs, toMs }, select, { database }) {
    const conditions = edgeConditions({ zone, node }, sql`at >= ${fromMs} AND at <= ${toMs}`);
    const once = `
      SELECT source, at, node, argMax(state, version) AS rank, argMax(requests, version) AS n
      FROM ${database}.edge_sources WHERE ${conditions} GROUP BY source, at, node`;
    const having = state === null ? "" : `HAVING strongest = ${REPORTED_STATES.indexOf(state)}`;
    const rows = await select(`
      SELECT source, min(rank) AS strongest, sum(n) AS requests, count() AS windows, uniqExact(node) AS nodes,
        min(at) AS firstMs, max(at) AS lastMs
      FROM (${once}) GROUP BY source ${having} ORDER BY requests DESC, source LIMIT ${HISTORY_ROWS_MAX}`);
    return (rows as (Omit<EdgeSourceTotal, "state"> & { strongest: number })[]).map(({ strongest, ...row }) => ({
      ...row,
      state: REPORTED_STATES[strongest] as EdgeSourceTotal["state"],
    }));
  },

  async edgeEvents({ node, zone, kind, fromMs, toMs }, select, { database }) {
    // Events without a zone concern the node as a whole.
    if (zone === "") return [];
    const conditions = [sql`at >= ${fromMs} AND at <= ${toMs}`];
    for (const [column, value] of Object.entries({ node, zone, kind })) {
      if (value !== null) conditions.push(`${column} = ${literal(value)}`);
    }
    const rows = await select(`
      SELECT at AS atMs, node, zone, kind, detail FROM ${database}.edge_events WHERE ${conditions.join(" AND ")}
      ORDER BY at DESC, id DESC LIMIT 1 BY id LIMIT ${HISTORY_ROWS_MAX}`);
    return (rows as (EdgeEvent & { zone: string })[]).map((event) => ({
      ...event,
      zone: event.zone === "" ? null : event.zone,
    }));
  },
};

interface StoredMarks {
  readonly time: number;
  readonly attacked: number;
  readonly learned: number;
  readonly baselines: number;
}

function edgeConditions({ zone, node }: { zone: string; node: string | null }, range: string): string {
  return [sql`zone = ${zone}`, range, ...(node === null ? [] : [sql`node = ${node}`])].join(" AND ");
}
