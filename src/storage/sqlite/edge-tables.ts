/** Windows, reported sources and events of edge nodes in SQLite. */
import type { Database } from "bun:sqlite";
import {
  EDGE_COUNTERS,
  type EdgeCounts,
  type EdgeEvent,
  type EdgeEventsQuery,
  type EdgeHistoryPoint,
  type EdgeHistoryQuery,
  type EdgeSourcesQuery,
  type EdgeSourceTotal,
  type EdgeWindow,
  REPORTED_STATES,
} from "../../edge/reports/edge-history.ts";
import { HISTORY_ROWS_MAX } from "../../limits.ts";
import type { Identified } from "../history-driver.ts";

/** `state` is the index in REPORTED_STATES: the lowest is the strongest. */
export const EDGE_SCHEMA = `
  CREATE TABLE edge_windows (
    zone TEXT NOT NULL, at INTEGER NOT NULL, node TEXT NOT NULL, seconds REAL NOT NULL,
    ${EDGE_COUNTERS.map((name) => `${name} INTEGER NOT NULL`).join(", ")},
    PRIMARY KEY (zone, at, node)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE edge_sources (
    zone TEXT NOT NULL, at INTEGER NOT NULL, node TEXT NOT NULL, source TEXT NOT NULL, state INTEGER NOT NULL,
    requests INTEGER NOT NULL, PRIMARY KEY (zone, at, node, source)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE edge_events (
    id TEXT PRIMARY KEY, at INTEGER NOT NULL, node TEXT NOT NULL, zone TEXT, kind TEXT NOT NULL, detail TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX edge_events_at ON edge_events (at, id);
`;

type Values = Record<string, string | number>;

export class EdgeTables {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  insertWindows(windows: readonly EdgeWindow[]): void {
    const places = EDGE_COUNTERS.map(() => "?").join(", ");
    const insertWindow = this.#db.query(`INSERT OR REPLACE INTO edge_windows VALUES (?, ?, ?, ?, ${places})`);
    const insertSource = this.#db.query("INSERT OR REPLACE INTO edge_sources VALUES (?, ?, ?, ?, ?, ?)");
    for (const { zone, atMs, node, seconds, counts, sources } of windows) {
      insertWindow.run(zone, atMs, node, seconds, ...EDGE_COUNTERS.map((name) => counts[name]));
      for (const { source, state, requests } of sources) {
        insertSource.run(zone, atMs, node, source, REPORTED_STATES.indexOf(state), requests);
      }
    }
  }

  insertEvents(events: readonly Identified<EdgeEvent>[]): void {
    const statement = this.#db.query("INSERT OR REPLACE INTO edge_events VALUES (?, ?, ?, ?, ?, ?)");
    for (const { id, record } of events) {
      const { atMs, node, zone, kind, detail } = record;
      statement.run(id, atMs, node, zone, kind, detail);
    }
  }

  points({ zone, node, fromMs, toMs, stepSeconds }: EdgeHistoryQuery): EdgeHistoryPoint[] {
    const sums = EDGE_COUNTERS.map((name) => `sum(${name}) AS ${name}`).join(", ");
    const sql = `
      SELECT bucket, count(*) AS nodes, max(seconds) AS seconds, ${sums} FROM (
        SELECT at / $step AS bucket, node, sum(seconds) AS seconds, ${sums} FROM edge_windows
        WHERE zone = $zone AND at >= $from AND at < $to ${node === null ? "" : "AND node = $node"}
        GROUP BY bucket, node
      ) GROUP BY bucket ORDER BY bucket`;
    const values: Values = { zone, from: fromMs, to: toMs, step: stepSeconds * 1000 };
    if (node !== null) values["node"] = node;
    const rows = this.#db.query(sql).all(values) as ({ bucket: number; nodes: number; seconds: number } & EdgeCounts)[];
    return rows.map(({ bucket, nodes, seconds, ...counts }) => ({
      atSeconds: bucket * stepSeconds,
      nodes,
      seconds,
      counts,
    }));
  }

  sources({ zone, node, state, fromMs, toMs }: EdgeSourcesQuery): EdgeSourceTotal[] {
    const sql = `
      SELECT source, min(state) AS state, sum(requests) AS requests, count(*) AS windows, count(DISTINCT node) AS nodes,
        min(at) AS firstMs, max(at) AS lastMs
      FROM edge_sources WHERE zone = $zone AND at >= $from AND at <= $to ${node === null ? "" : "AND node = $node"}
      GROUP BY source ${state === null ? "" : "HAVING min(state) = $state"}
      ORDER BY requests DESC, source LIMIT ${HISTORY_ROWS_MAX}`;
    const values: Values = { zone, from: fromMs, to: toMs };
    if (node !== null) values["node"] = node;
    if (state !== null) values["state"] = REPORTED_STATES.indexOf(state);
    const rows = this.#db.query(sql).all(values) as (Omit<EdgeSourceTotal, "state"> & { state: number })[];
    return rows.map((row) => ({ ...row, state: REPORTED_STATES[row.state] as EdgeSourceTotal["state"] }));
  }

  events({ node, zone, kind, fromMs, toMs }: EdgeEventsQuery): EdgeEvent[] {
    const conditions = ["at >= $from", "at <= $to"];
    const values: Values = { from: fromMs, to: toMs };
    for (const [column, value] of Object.entries({ node, zone, kind })) {
      if (value === null) continue;
      conditions.push(`${column} = $${column}`);
      values[column] = value;
    }
    const sql = `SELECT at AS atMs, node, zone, kind, detail FROM edge_events WHERE ${conditions.join(" AND ")}
      ORDER BY at DESC, id DESC LIMIT ${HISTORY_ROWS_MAX}`;
    return this.#db.query(sql).all(values) as EdgeEvent[];
  }

  zones(): string[] {
    const sql = "SELECT DISTINCT zone FROM edge_windows UNION SELECT DISTINCT zone FROM edge_sources";
    return (this.#db.query(sql).all() as { zone: string }[]).map(({ zone }) => zone);
  }

  removeZoneBefore(zone: string, ms: number): void {
    this.#db.query("DELETE FROM edge_windows WHERE zone = ? AND at < ?").run(zone, ms);
    this.#db.query("DELETE FROM edge_sources WHERE zone = ? AND at < ?").run(zone, ms);
  }

  removeEventsBefore(ms: number): void {
    this.#db.query("DELETE FROM edge_events WHERE at < ?").run(ms);
  }

  /** null: there is nothing. */
  oldestMs(): number | null {
    const sql = `SELECT min(at) AS at FROM
      (SELECT min(at) AS at FROM edge_windows UNION ALL SELECT min(at) FROM edge_sources UNION ALL SELECT min(at) FROM edge_events)`;
    return (this.#db.query(sql).get() as { at: number | null }).at;
  }
}
