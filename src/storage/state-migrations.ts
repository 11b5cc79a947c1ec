/** Migrates state databases of earlier builds: after an update, what is in them stays in force. */
import type { Database } from "bun:sqlite";
import { ANY_MATCH } from "../mitigation/rules/match.ts";
import { type StateTable, TABLE_COLUMNS } from "./state-change.ts";

type Json = Record<string, unknown>;

export const SCHEMA_VERSION = 14;

/** The statement that makes the tables of these names. */
export function tablesOf(...names: readonly StateTable[]): string {
  return names.map(tableOf).join("\n");
}

function tableOf(name: StateTable): string {
  const { keys, others } = TABLE_COLUMNS[name];
  const columns = [...keys, ...others].map(
    (column) => `${column} ${column === "started_at" ? "INTEGER" : "TEXT"} NOT NULL`,
  );
  return `CREATE TABLE ${name} (${columns.join(", ")}, PRIMARY KEY (${keys.join(", ")})) STRICT, WITHOUT ROWID;`;
}

/**
 * The migration from the version in the key to the next. Runs in a transaction of the caller. Each makes its tables with
 * the columns of today: a later one that adds a column must first look whether the table has it.
 */
const MIGRATIONS: Readonly<Record<number, (db: Database) => void>> = {
  1: (db) => rewriteBans(db, escalatingBan),
  2: (db) => db.run(tablesOf("source_blocks")),
  3: (db) => rewriteBans(db, scrubbedBan),
  4: (db) => db.run(tablesOf("levers")),
  5: (db) => rewriteBans(db, filteredBan),
  6: (db) => db.run(tablesOf("filter_rules", "protections")),
  7: (db) => rewriteBans(db, withMatches),
  // Builds of this version wrote rules in both forms.
  8: (db) => {
    rewriteBans(db, withMatches);
    db.run(tablesOf("incidents"));
  },
  9: (db) => db.run(tablesOf("maintenance")),
  10: (db) => db.run(tablesOf("notify_targets", "notifications")),
  11: (db) => db.run(tablesOf("cluster_orders")),
  12: (db) => {
    db.run(tablesOf("notified", "order_notices", "browser_sessions"));
    rememberAttacks(db);
  },
  13: (db) => db.run(tablesOf("audit_unconfirmed")),
};

/** Whether the file can be migrated to this build's version. */
export function canMigrate(version: number): boolean {
  return version in MIGRATIONS;
}

export function migrate(db: Database, from: number): void {
  for (let version = from; version < SCHEMA_VERSION; version++) MIGRATIONS[version]?.(db);
  db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

/** In this version no one knew which targets got the begin of an attack: those that last were notified, and are not again. */
function rememberAttacks(db: Database): void {
  const insert = db.query("INSERT INTO notified (id, record) VALUES ($id, $record)");
  for (const { id: attack } of db.query("SELECT id FROM attacks").all() as { id: string }[]) {
    const id = `attack ${attack}`;
    insert.run({ id, record: JSON.stringify({ id, tenant: null, targets: [], quiet: [] }) });
  }
}

/** In this version a ban was a blackhole of one attack. */
function escalatingBan({ route, attackId, ...ban }: Json): Json {
  const heldBy = attackId === null ? [] : [attackId];
  return {
    ...ban,
    attackId: ban["manual"] === true ? null : attackId,
    heldBy,
    measure: { kind: "blackhole", route: route === null ? null : { kind: "unicast", ...(route as Json) } },
    retiring: [],
    escalation: null,
    step: 0,
    fallback: null,
    repeat: 0,
    holdUntil: null,
    countedFrom: ban["startedAt"],
  };
}

/** In this version a divert had only a route. */
function scrubbedBan({ measure, ...ban }: Json): Json {
  const { kind } = measure as Json;
  const rules = { kind: "flowspec", rules: [], matchesAll: false, localPref: 0, basis: "" };
  return { ...ban, measure: kind === "divert" ? { ...(measure as Json), node: null, rules } : measure };
}

/** In this version a scrubbed ban had of its filter only how sources of TCP prove their address. */
function filteredBan({ measure, ...ban }: Json): Json {
  const { tcp, ...rest } = measure as Json;
  if (rest["kind"] !== "scrub") return { ...ban, measure };
  const sourceLimits = { packets: 0, bytes: 0, connections: 0, ipv4Length: 32, ipv6Length: 64 };
  const ways = { tcp, dns: false, askedOnly: false, learnedBytesPerSecond: 0 };
  return { ...ban, measure: { ...rest, filter: { ...ways, sourceLimits, services: null, countsOnly: false } } };
}

/** In this version a rule had one protocol and one range of lengths, or null for any, and nothing that the kernel alone knows. */
function withMatches(ban: Json): Json {
  return presentRules(ban) as Json;
}

/** Rules are in measures of several kinds, and in routes. */
function presentRules(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(presentRules);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.fromEntries(Object.entries(value).map(([key, field]) => [key, presentRules(field)] as const));
  // Services have a protocol and ports, too, and go on so.
  if (!("destinationPorts" in fields)) return fields;
  const { protocol = null, packetLength = null, ...others } = fields as Json & { packetLength?: OldRange | null };
  return {
    ...ANY_MATCH,
    protocols: protocol === null ? [] : [{ from: protocol, to: protocol }],
    packetLengths: packetLength === null ? [] : [{ from: packetLength.min, to: packetLength.max }],
    ...others,
  };
}

interface OldRange {
  readonly min: number;
  readonly max: number;
}

function rewriteBans(db: Database, change: (record: Json) => Json): void {
  const rows = db.query("SELECT id, record FROM bans").all() as { id: string; record: string }[];
  const update = db.query("UPDATE bans SET record = $record WHERE id = $id");
  for (const { id, record } of rows) update.run({ id, record: JSON.stringify(change(JSON.parse(record) as Json)) });
}
