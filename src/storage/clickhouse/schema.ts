/**
 * The tables of the history in ClickHouse, in SQL that 18.16 and current servers understand. Every table is partitioned
 * by day, so that old rows are removed by partition. A record that was written twice is in a table twice until the
 * server merges it, and forever if it is on two shards: queries count it once by its key, using the row with the
 * highest version.
 */

import { EDGE_COUNTERS } from "../../edge/reports/edge-history.ts";
import { DAY_MS } from "../../system/now.ts";

export const TABLES = ["audit", "attacks", "traffic", "edge_windows", "edge_sources", "edge_events"] as const;
export type Table = (typeof TABLES)[number];

interface Definition {
  readonly columns: string;
  readonly version: string;
  /** The number of the day, which selects the partition. */
  readonly day: string;
  readonly key: string;
}

const texts = (...names: string[]) => names.map((name) => `${name} String`).join(", ");

/** `at`, `started` and `ended` are wall clock ms, `ts` is in seconds. Empty text and 0 mean absent. */
const DEFINITIONS: Readonly<Record<Table, Definition>> = {
  audit: {
    columns: `${texts("id")}, at UInt64, ${texts("action", "result", "operator", "role", "tenant", "target", "target_type", "reason", "source", "ban_state")}, dry_run UInt8`,
    version: "",
    day: `intDiv(at, ${DAY_MS})`,
    key: "at, id",
  },
  attacks: {
    columns: `${texts("id", "tenant", "hostgroup", "target")}, started UInt64, ended UInt64, record String, version UInt64`,
    version: "version",
    day: `intDiv(started, ${DAY_MS})`,
    key: "id",
  },
  // The row with an empty host is for the snapshot itself, which may have no hosts.
  traffic: {
    columns:
      "host String, outgoing UInt8, ts UInt32, seconds Float64, pps Float64, mbps Float64, flows Float64, in_attack UInt8, learned UInt8, baseline Float64, " +
      "max_pps Float64 DEFAULT pps, max_mbps Float64 DEFAULT mbps, max_flows Float64 DEFAULT flows, " +
      "dev_pps Float64 DEFAULT 0, dev_mbps Float64 DEFAULT 0, dev_flows Float64 DEFAULT 0",
    version: "",
    day: "intDiv(ts, 86400)",
    key: "host, outgoing, ts",
  },
  edge_windows: {
    columns: `${texts("zone", "node")}, at UInt64, seconds Float64, ${EDGE_COUNTERS.map((name) => `${name} UInt64`).join(", ")}, version UInt64`,
    version: "version",
    day: `intDiv(at, ${DAY_MS})`,
    key: "zone, at, node",
  },
  edge_sources: {
    columns: `${texts("zone", "node", "source")}, at UInt64, state UInt8, requests UInt64, version UInt64`,
    version: "version",
    day: `intDiv(at, ${DAY_MS})`,
    key: "zone, at, node, source",
  },
  edge_events: {
    columns: `${texts("id")}, at UInt64, ${texts("node", "zone", "kind", "detail")}`,
    version: "",
    day: `intDiv(at, ${DAY_MS})`,
    key: "at, id",
  },
};

/**
 * Came after the other columns of `traffic`, each with what it is in rows from before: their maxima are their means, and
 * the standard deviations of these are not known.
 */
export const LATER_COLUMNS = [
  ["max_pps", "pps"],
  ["max_mbps", "mbps"],
  ["max_flows", "flows"],
  ["dev_pps", "0"],
  ["dev_mbps", "0"],
  ["dev_flows", "0"],
] as const;

/** For a table that has only these of them. */
export function addColumns(database: string, present: ReadonlySet<string>): string {
  const missing = LATER_COLUMNS.filter(([name]) => !present.has(name));
  const columns = missing.map(([name, otherwise]) => `ADD COLUMN ${name} Float64 DEFAULT ${otherwise}`);
  return `ALTER TABLE ${database}.traffic ${columns.join(", ")}`;
}

export function createTable(database: string, table: Table): string {
  const { columns, version, day, key } = DEFINITIONS[table];
  return `CREATE TABLE IF NOT EXISTS ${database}.${table} (${columns}) ENGINE = ReplacingMergeTree(${version})
    PARTITION BY ${day} ORDER BY (${key})`;
}
