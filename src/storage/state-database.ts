/**
 * The state that a restart must not lose: bans, source blocks, active attacks, levers, protections and incidents, in one SQLite file that one
 * process owns. When a call returns, its change is on disk (`synchronous=FULL`), so neither kill -9 nor a power cut loses it.
 * Calls wait for the disk: they run in the thread that owns the file.
 */
import { Database } from "bun:sqlite";
import { renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Attack } from "../detection/attack/attack.ts";
import type { Lever } from "../edge/zones/levers.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { RuleOrder } from "../mitigation/operator/filter-rules.ts";
import type { ProtectionChoice } from "../mitigation/protection/choice.ts";
import { type Pair, pairOfName, type SourceBlock } from "../sourceblock/source-block.ts";
import { systemClock } from "../system/clock.ts";
import { messageOf } from "../system/error-message.ts";
import { makePrivateFolder } from "../system/private-folder.ts";
import { attackOfRecord } from "./attack-record.ts";
import { banOfRecord, recordOfBan } from "./ban-record.ts";
import { moveAside, moveBack, restoreRows, type StateDamage, salvage, unreadableRow } from "./damaged-state.ts";
import { fileIdentity } from "./sqlite/database-file.ts";
import type { StateChange, StateRecords, StateTable, StoredState } from "./state-change.ts";
import {
  AUDIT_UNCONFIRMED,
  BROWSER_SESSIONS,
  CLUSTER_ORDERS,
  canMigrate,
  FILTER_RULES,
  INCIDENTS,
  LEVERS,
  MAINTENANCE,
  migrate,
  NOTIFICATIONS,
  NOTIFIED,
  PROTECTIONS,
  SCHEMA_VERSION,
  SOURCE_BLOCKS,
} from "./state-migrations.ts";

const SCHEMA = `
  CREATE TABLE bans (id TEXT PRIMARY KEY, started_at INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE attacks (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  ${SOURCE_BLOCKS}
  ${LEVERS}
  ${FILTER_RULES}
  ${PROTECTIONS}
  ${INCIDENTS}
  ${MAINTENANCE}
  ${CLUSTER_ORDERS}
  ${NOTIFICATIONS}
  ${NOTIFIED}
  ${BROWSER_SESSIONS}
  ${AUDIT_UNCONFIRMED}
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** The state database cannot be opened, or a write failed. The message says what to do. */
export class StateDatabaseError extends Error {
  override readonly name = "StateDatabaseError";
}

/** SQLite cannot read the file, or finds it inconsistent. */
class DamagedError extends StateDatabaseError {
  constructor(
    path: string,
    readonly reason: string,
  ) {
    super(`${path} is damaged: ${reason}`);
  }
}

export class StateDatabase {
  readonly path: string;
  /** The fault of the file that was here; null: none. */
  readonly damage: StateDamage | null;
  #db: Database;
  /** Identity of the open file. */
  #identity: string;

  /**
   * Creates the folder and the file when they are missing. A damaged file is moved aside, and what can be read of it goes
   * into a new one. Throws StateDatabaseError.
   */
  constructor(stateDir: string, wallMs: () => number = () => systemClock.wallMs()) {
    this.path = join(stateDir, "state.db");
    const { db, damage } = openOrReplace(this.path, wallMs);
    this.#db = db;
    this.damage = damage;
    this.#identity = fileIdentity(this.path);
  }

  /** Commits all changes or none. */
  write(changes: readonly StateChange[]): void {
    this.atOnce(() => {
      for (const change of changes) this.#writeOne(change);
    });
  }

  stored(): StoredState {
    const [bans, attacks] = [this.bans(), this.attacks()];
    return {
      bans,
      attacks,
      source_blocks: this.sourceBlocks(),
      levers: this.levers(),
      filter_rules: this.filterRules(),
      protections: this.protections(),
      incidents: this.#rows("incidents"),
      maintenance: this.#rows("maintenance"),
      cluster_orders: this.#rows("cluster_orders"),
      notify_targets: this.#rows("notify_targets"),
      notifications: this.#rows("notifications"),
      notified: this.#rows("notified"),
      order_notices: this.#rows("order_notices"),
      browser_sessions: this.#rows("browser_sessions"),
      audit_unconfirmed: this.#rows("audit_unconfirmed"),
    };
  }

  saveBan(ban: Ban): void {
    this.#write("INSERT OR REPLACE INTO bans (id, started_at, record) VALUES (?, ?, ?)", [
      ban.id,
      ban.startedAt,
      recordOfBan(ban),
    ]);
  }

  removeBan(id: string): void {
    this.#write("DELETE FROM bans WHERE id = ?", [id]);
  }

  /** Commits all or none of what `writes` does: one transaction, so one wait for the disk. */
  atOnce(writes: () => void): void {
    try {
      this.#keepInPlace();
      this.#db.transaction(writes).immediate();
    } catch (cause) {
      throw cause instanceof StateDatabaseError ? cause : this.#writeFault(cause);
    }
  }

  /** Oldest first. */
  bans(): Ban[] {
    return this.#records("SELECT record FROM bans ORDER BY started_at, id", banOfRecord);
  }

  saveAttack(attack: Attack): void {
    this.#write("INSERT OR REPLACE INTO attacks (id, record) VALUES (?, ?)", [attack.id, JSON.stringify(attack)]);
  }

  removeAttack(id: string): void {
    this.#write("DELETE FROM attacks WHERE id = ?", [id]);
  }

  attacks(): Attack[] {
    return this.#records("SELECT record FROM attacks ORDER BY id", attackOfRecord);
  }

  saveSourceBlock(block: SourceBlock): void {
    const { source, victim } = block;
    this.#write("INSERT OR REPLACE INTO source_blocks (source, victim, record) VALUES (?, ?, ?)", [
      source,
      victim,
      JSON.stringify(block),
    ]);
  }

  removeSourceBlock({ source, victim }: Pair): void {
    this.#write("DELETE FROM source_blocks WHERE source = ? AND victim = ?", [source, victim]);
  }

  /** In no order. */
  sourceBlocks(): SourceBlock[] {
    return this.#records("SELECT record FROM source_blocks", (record) => JSON.parse(record) as SourceBlock);
  }

  saveLever(lever: Lever): void {
    this.#write("INSERT OR REPLACE INTO levers (zone, record) VALUES (?, ?)", [lever.zone, JSON.stringify(lever)]);
  }

  removeLever(zone: string): void {
    this.#write("DELETE FROM levers WHERE zone = ?", [zone]);
  }

  /** In no order. */
  levers(): Lever[] {
    return this.#records("SELECT record FROM levers", (record) => JSON.parse(record) as Lever);
  }

  saveFilterRule(order: RuleOrder): void {
    const values = [order.name, JSON.stringify(order)];
    this.#write("INSERT OR REPLACE INTO filter_rules (name, record) VALUES (?, ?)", values);
  }

  removeFilterRule(name: string): void {
    this.#write("DELETE FROM filter_rules WHERE name = ?", [name]);
  }

  /** In no order. */
  filterRules(): RuleOrder[] {
    return this.#records("SELECT record FROM filter_rules", (record) => JSON.parse(record) as RuleOrder);
  }

  saveProtection(choice: ProtectionChoice): void {
    const values = [choice.prefix, JSON.stringify(choice)];
    this.#write("INSERT OR REPLACE INTO protections (prefix, record) VALUES (?, ?)", values);
  }

  removeProtection(prefix: string): void {
    this.#write("DELETE FROM protections WHERE prefix = ?", [prefix]);
  }

  /** In no order. */
  protections(): ProtectionChoice[] {
    return this.#records("SELECT record FROM protections", (record) => JSON.parse(record) as ProtectionChoice);
  }

  close(): void {
    this.#db.close();
  }

  #writeOne({ table, key, record }: StateChange): void {
    switch (table) {
      case "bans":
        if (record === null) this.removeBan(key);
        else this.saveBan(record);
        break;
      case "attacks":
        if (record === null) this.removeAttack(key);
        else this.saveAttack(record);
        break;
      case "source_blocks":
        if (record === null) this.removeSourceBlock(pairOfName(key));
        else this.saveSourceBlock(record);
        break;
      case "levers":
        if (record === null) this.removeLever(key);
        else this.saveLever(record);
        break;
      case "filter_rules":
        if (record === null) this.removeFilterRule(key);
        else this.saveFilterRule(record);
        break;
      case "protections":
        if (record === null) this.removeProtection(key);
        else this.saveProtection(record);
        break;
      case "maintenance":
      case "cluster_orders":
        if (record === null) this.#write(`DELETE FROM ${table} WHERE name = ?`, [key]);
        else this.#write(`INSERT OR REPLACE INTO ${table} (name, record) VALUES (?, ?)`, [key, JSON.stringify(record)]);
        break;
      case "incidents":
      case "notify_targets":
      case "notifications":
      case "notified":
      case "order_notices":
      case "browser_sessions":
      case "audit_unconfirmed":
        if (record === null) this.#write(`DELETE FROM ${table} WHERE id = ?`, [key]);
        else this.#write(`INSERT OR REPLACE INTO ${table} (id, record) VALUES (?, ?)`, [key, JSON.stringify(record)]);
        break;
      default:
        table satisfies never;
    }
  }

  /** Data written into a removed file would be lost with the process, so a copy takes its place. */
  #keepInPlace(): void {
    const identity = fileIdentity(this.path);
    if (identity === this.#identity) return;
    if (identity !== "") throw new Error("the open file was replaced: another floodwall may run on this state_dir");
    const copy = `${this.path}.copy`;
    makePrivateFolder(dirname(this.path));
    rmSync(copy, { force: true });
    this.#db.query("VACUUM INTO ?").run(copy);
    renameSync(copy, this.path);
    // Before the copy is opened: closing removes the journal with that name.
    this.#db.close();
    this.#db = openPrepared(this.path);
    this.#identity = fileIdentity(this.path);
  }

  #write(sql: string, values: (string | number)[]): void {
    try {
      // Within a transaction, only its first step checks.
      if (!this.#db.inTransaction) this.#keepInPlace();
      this.#db.query(sql).run(...values);
    } catch (cause) {
      throw this.#writeFault(cause);
    }
  }

  #writeFault(cause: unknown): StateDatabaseError {
    return new StateDatabaseError(`cannot write ${this.path}: ${messageOf(cause)}`, { cause });
  }

  /** In the order of their keys. */
  #rows<T extends StateTable>(table: T): StateRecords[T][] {
    return this.#records(`SELECT record FROM ${table}`, (record) => JSON.parse(record) as StateRecords[T]);
  }

  #records<T>(sql: string, read: (record: string) => T): T[] {
    try {
      return (this.#db.query(sql).all() as { record: string }[]).map(({ record }) => read(record));
    } catch (cause) {
      throw new DamagedError(this.path, messageOf(cause));
    }
  }
}

function openOrReplace(path: string, wallMs: () => number): { db: Database; damage: StateDamage | null } {
  try {
    return { db: openPrepared(path), damage: null };
  } catch (cause) {
    if (!(cause instanceof DamagedError)) throw cause;
    return replaceDamaged(path, { reason: cause.reason, wallMs: wallMs() });
  }
}

function replaceDamaged(path: string, { reason, wallMs }: { reason: string; wallMs: number }) {
  let movedTo: string | null = null;
  let db: Database | null = null;
  try {
    movedTo = moveAside(path, wallMs);
    const rows = salvage(movedTo);
    db = openPrepared(path);
    return { db, damage: { reason, movedTo, salvaged: restoreRows(db, rows) } };
  } catch (cause) {
    // On a full disk, say: the next start tries again.
    db?.close();
    if (movedTo !== null) moveBack(movedTo, path);
    throw cause instanceof StateDatabaseError ? cause : unusable(path, cause);
  }
}

function openPrepared(path: string): Database {
  let db: Database | null = null;
  try {
    makePrivateFolder(dirname(path));
    db = new Database(path, { create: true, strict: true });
    prepare(db, path);
    return db;
  } catch (cause) {
    db?.close();
    throw cause instanceof StateDatabaseError ? cause : unusable(path, cause);
  }
}

function prepare(db: Database, path: string): void {
  db.run("PRAGMA busy_timeout = 0");
  // One owner: a second service on the same folder gets an error instead of announcing the same bans.
  db.run("PRAGMA locking_mode = EXCLUSIVE");
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  const check = db.query("PRAGMA quick_check(1)").get() as { quick_check: string };
  if (check.quick_check !== "ok") throw new DamagedError(path, check.quick_check);
  const { user_version: version } = db.query("PRAGMA user_version").get() as { user_version: number };
  if (version === 0) db.transaction(() => db.run(SCHEMA))();
  else if (canMigrate(version)) db.transaction(() => migrate(db, version))();
  else if (version !== SCHEMA_VERSION) {
    throw new StateDatabaseError(
      `${path} has schema version ${version}, this build knows ${SCHEMA_VERSION}: run the build that wrote it, or move the file aside`,
    );
  }
  const unreadable = unreadableRow(db);
  if (unreadable !== null) throw new DamagedError(path, unreadable);
  // Shows now, not at the first ban, whether the disk accepts writes.
  db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

function unusable(path: string, cause: unknown): StateDatabaseError {
  const message = messageOf(cause);
  if (/malformed|not a database|disk image/i.test(message)) return new DamagedError(path, message);
  if (/locked|busy/i.test(message)) {
    return new StateDatabaseError(`${path} is in use by another floodwall: stop it, or set another state_dir`, {
      cause,
    });
  }
  return new StateDatabaseError(`cannot open ${path}: ${message}: check state_dir, its owner and the free space`, {
    cause,
  });
}
