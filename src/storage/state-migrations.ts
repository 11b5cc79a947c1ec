/** Migrates state databases of earlier builds: after an update, what is in them stays in force. */
import type { Database } from "bun:sqlite";
import { ANY_MATCH } from "../mitigation/rules/match.ts";

type Json = Record<string, unknown>;

export const SCHEMA_VERSION = 14;

export const SOURCE_BLOCKS = `
  CREATE TABLE source_blocks (
    source TEXT NOT NULL, victim TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (source, victim)
  ) STRICT, WITHOUT ROWID;
`;

export const LEVERS = `
  CREATE TABLE levers (zone TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export const FILTER_RULES = `
  CREATE TABLE filter_rules (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export const PROTECTIONS = `
  CREATE TABLE protections (prefix TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export const INCIDENTS = `
  CREATE TABLE incidents (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export const MAINTENANCE = `
  CREATE TABLE maintenance (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export const NOTIFICATIONS = `
  CREATE TABLE notify_targets (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE notifications (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export const NOTIFIED = `
  CREATE TABLE notified (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE order_notices (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export const BROWSER_SESSIONS = `
  CREATE TABLE browser_sessions (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export const CLUSTER_ORDERS = `
  CREATE TABLE cluster_orders (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

export const AUDIT_UNCONFIRMED = `
  CREATE TABLE audit_unconfirmed (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

/** The migration from the version in the key to the next. Runs in a transaction of the caller. */
const MIGRATIONS: Readonly<Record<number, (db: Database) => void>> = {
  1: (db) => rewriteBans(db, escalatingBan),
  2: (db) => db.run(SOURCE_BLOCKS),
  3: (db) => rewriteBans(db, scrubbedBan),
  4: (db) => db.run(LEVERS),
  5: (db) => rewriteBans(db, filteredBan),
  6: (db) => db.run(FILTER_RULES + PROTECTIONS),
  7: (db) => rewriteBans(db, withMatches),
  // Builds of this version wrote rules in both forms.
  8: (db) => {
    rewriteBans(db, withMatches);
    db.run(INCIDENTS);
  },
  9: (db) => db.run(MAINTENANCE),
  10: (db) => db.run(NOTIFICATIONS),
  11: (db) => db.run(CLUSTER_ORDERS),
  12: (db) => {
    db.run(NOTIFIED + BROWSER_SESSIONS);
    rememberAttacks(db);
  },
  13: (db) => db.run(AUDIT_UNCONFIRMED),
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
