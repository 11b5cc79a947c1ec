/**
 * A state database that is damaged: it is moved aside, so that the service starts, and what SQLite still reads of it
 * goes into a new one. The damaged files stay as they are, the newest few of them.
 */
import { Database } from "bun:sqlite";
import { copyFileSync, existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { type StampedOrder, stampedName } from "../cluster/stamped-order.ts";
import type { Route } from "../mitigation/announcer.ts";
import type { Measure } from "../mitigation/measure.ts";
import { type Rule, ruleText } from "../mitigation/rules/rule.ts";
import { parseAddress } from "../net/address.ts";
import { parseTarget } from "../net/target.ts";
import { noRows, type StateRecords, type StateTable, TABLE_COLUMNS, TABLE_NAMES } from "./state-change.ts";
import { SCHEMA_VERSION } from "./state-migrations.ts";

/** State databases that were damaged and moved aside. */
const DAMAGED_STATES_KEPT = 3;

/** The findings and actions of a start. */
export interface StateDamage {
  /** As SQLite reports it. */
  readonly reason: string;
  readonly movedTo: string;
  /** Rows that could be read, by table. */
  readonly salvaged: Readonly<Record<StateTable, number>>;
}

/** Damage may have lost the end of a session: people sign in again. */
const NOT_SALVAGED: StateTable = "browser_sessions";

const isAddress = (text: unknown): boolean => typeof text === "string" && parseAddress(text) !== null;
const isVictim = (text: unknown): boolean => text === null || (typeof text === "string" && parseTarget(text) !== null);
const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** A field that a rule lacks throws. */
const areRules = (rules: readonly Rule[]): boolean => rules.every((rule) => ruleText(rule) !== "");
const isRoute = (route: Route): boolean => (route.kind === "unicast" ? isObject(route.prefix) : areRules([route.rule]));

function isMeasure(measure: Measure): boolean {
  if (measure.kind === "divert" || measure.kind === "scrub") return isMeasure(measure.rules);
  return measure.kind !== "flowspec" || areRules(measure.rules);
}

/** The fields that a start reads of a record; a record without them would stop each start. null: no more than its key. May throw. */
const FORMS: { readonly [Table in StateTable]: ((record: StateRecords[Table]) => boolean) | null } = {
  bans: ({ target, prefix, measure, retiring }) =>
    isAddress(target) && isAddress(prefix.address) && isMeasure(measure) && retiring.every(isRoute),
  attacks: ({ target, group, carpet }) =>
    (target === null || isAddress(target)) && typeof group === "string" && isVictim(carpet?.prefix ?? null),
  filter_rules: ({ rule }) => isObject(rule),
  incidents: ({ aliases = [], members, peaks, work }) =>
    Array.isArray(aliases) &&
    members.every(({ victim }) => isVictim(victim)) &&
    [peaks.packets, peaks.bits].every(isObject) &&
    Array.isArray(work.notes),
  maintenance: ({ window }) => isObject(window.times),
  audit_unconfirmed: ({ brains, event }) => Array.isArray(brains) && isObject(event),
  ...{ source_blocks: null, levers: null, protections: null, cluster_orders: null },
  ...{ notify_targets: null, notifications: null, notified: null, order_notices: null, browser_sessions: null },
};

/** The database and its write-ahead log. The index of the log is made again by the process that opens them. */
const SUFFIXES = ["", "-wal"];

type Row = Readonly<Record<string, unknown>>;

/** Every row that SQLite can read, by table. */
type SalvagedRows = ReadonlyMap<StateTable, readonly Row[]>;

/** Renames the files of the database and removes the oldest ones that were moved before. Returns the new name. */
export function moveAside(path: string, wallMs: number): string {
  const stamp = new Date(wallMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const prefix = `${path}.damaged-`;
  let movedTo = `${prefix}${stamp}`;
  for (let number = 2; existsSync(movedTo); number++) movedTo = `${prefix}${stamp}-${number}`;
  for (const suffix of SUFFIXES) if (existsSync(path + suffix)) renameSync(path + suffix, movedTo + suffix);
  rmSync(`${path}-shm`, { force: true });
  const moved = readdirSync(dirname(path))
    .filter((name) => name.startsWith(basename(prefix)) && !name.endsWith("-wal"))
    .sort();
  for (const name of moved.slice(0, -DAMAGED_STATES_KEPT)) {
    for (const suffix of SUFFIXES) rmSync(join(dirname(path), name + suffix), { force: true });
  }
  return movedTo;
}

/** Undoes moveAside(), whatever has taken the place of the database since. */
export function moveBack(movedTo: string, path: string): void {
  for (const suffix of [...SUFFIXES, "-shm"]) rmSync(path + suffix, { force: true });
  for (const suffix of SUFFIXES) if (existsSync(movedTo + suffix)) renameSync(movedTo + suffix, path + suffix);
}

/** Reads a copy, since opening the database may change it. Never throws: what cannot be read is lost. */
export function salvage(path: string): SalvagedRows {
  const copy = `${path}.copy`;
  const rows = new Map<StateTable, readonly Row[]>();
  let db: Database | null = null;
  try {
    for (const suffix of SUFFIXES) if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
    db = new Database(copy, { strict: true });
    const { user_version: version } = db.query("PRAGMA user_version").get() as { user_version: number };
    // Records of other builds have another form.
    if (version === SCHEMA_VERSION)
      for (const name of TABLE_NAMES) if (name !== NOT_SALVAGED) rows.set(name, readableRows(db, name));
  } catch {
    // Not a database at all, or no space for the copy.
  } finally {
    db?.close();
    for (const suffix of [...SUFFIXES, "-shm"]) rmSync(copy + suffix, { force: true });
  }
  return rows;
}

/** Writes the rows into an empty database, all or none. Returns the number of each table. */
export function restoreRows(db: Database, rows: SalvagedRows): StateDamage["salvaged"] {
  const counts = noRows();
  db.transaction(() => {
    for (const [name, of] of rows) {
      const { keys, others } = TABLE_COLUMNS[name];
      const columns = [...keys, ...others];
      const insert = db.query(
        `INSERT INTO ${name} (${columns.join()}) VALUES (${columns.map((_, i) => `?${i + 1}`).join()})`,
      );
      for (const row of of) insert.run(...columns.map((column) => row[column] as string | number));
      counts[name] = of.length;
    }
  })();
  return counts;
}

/** The first damaged row of a database that SQLite itself takes for sound; null: there is none. */
export function unreadableRow(db: Database): string | null {
  for (const name of TABLE_NAMES) {
    const rows = db.query(`SELECT * FROM ${name}`).all() as Row[];
    if (!rows.every((row) => isSound(name, row))) return `table ${name} has a record that cannot be read`;
  }
  return null;
}

/** From both ends of the table: damage in the middle hides only what lies between. */
function readableRows(db: Database, name: StateTable): readonly Row[] {
  const { keys } = TABLE_COLUMNS[name];
  const found = new Map<string, Row>();
  for (const direction of ["ASC", "DESC"]) {
    const order = keys.map((key) => `${key} ${direction}`).join();
    try {
      for (const row of db.query(`SELECT * FROM ${name} ORDER BY ${order}`).iterate() as Iterable<Row>) {
        if (isSound(name, row)) found.set(keys.map((key) => String(row[key])).join(" "), row);
      }
    } catch {
      // Up to the damage.
    }
  }
  return [...found.values()];
}

function isSound(name: StateTable, row: Row): boolean {
  try {
    const record: unknown = JSON.parse(String(row["record"]));
    if (typeof record !== "object" || record === null) return false;
    const fields: Row = { ...record, ...(name === "cluster_orders" && { name: stampedName(record as StampedOrder) }) };
    const hasForm = FORMS[name] as ((record: object) => boolean) | null;
    return TABLE_COLUMNS[name].keys.every((key) => row[key] === fields[key]) && hasForm?.(record) !== false;
  } catch {
    return false;
  }
}
