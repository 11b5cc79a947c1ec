/**
 * The state that a restart must not lose: bans, source blocks, active attacks, levers, protections and incidents, in one SQLite file that one
 * process owns. When a call returns, its change is on disk (`synchronous=FULL`), so neither kill -9 nor a power cut loses it.
 * Calls wait for the disk: they run in the thread that owns the file.
 */
import { Database } from "bun:sqlite";
import { renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Pair, pairOfName } from "../sourceblock/source-block.ts";
import { systemClock } from "../system/clock.ts";
import { messageOf } from "../system/error-message.ts";
import { makePrivateFolder } from "../system/private-folder.ts";
import { attackOfRecord } from "./attack-record.ts";
import { banOfRecord, recordOfBan } from "./ban-record.ts";
import { moveAside, moveBack, restoreRows, type StateDamage, salvage, unreadableRow } from "./damaged-state.ts";
import { fileIdentity } from "./sqlite/database-file.ts";
import {
  type StateChange,
  type StateRecords,
  type StateTable,
  type StoredState,
  TABLE_COLUMNS,
  TABLE_NAMES,
} from "./state-change.ts";
import { canMigrate, migrate, SCHEMA_VERSION, tablesOf } from "./state-migrations.ts";

const SCHEMA = `${tablesOf(...TABLE_NAMES)} PRAGMA user_version = ${SCHEMA_VERSION};`;

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

  /** Commits all changes or none: one transaction, so one wait for the disk. */
  write(changes: readonly StateChange[]): void {
    try {
      this.#keepInPlace();
      const writes = () => {
        for (const change of changes) this.#writeOne(change);
      };
      this.#db.transaction(writes).immediate();
    } catch (cause) {
      if (cause instanceof StateDatabaseError) throw cause;
      throw new StateDatabaseError(`cannot write ${this.path}: ${messageOf(cause)}`, { cause });
    }
  }

  stored(): StoredState {
    return Object.fromEntries(TABLE_NAMES.map((table) => [table, this.#rows(table)])) as unknown as StoredState;
  }

  close(): void {
    this.#db.close();
  }

  #writeOne({ table, key, record }: StateChange): void {
    const { keys, others } = TABLE_COLUMNS[table];
    const values: (string | number)[] = table === "source_blocks" ? valuesOf(pairOfName(key)) : [key];
    if (record === null) {
      this.#db
        .query(`DELETE FROM ${table} WHERE ${keys.map((column) => `${column} = ?`).join(" AND ")}`)
        .run(...values);
      return;
    }
    if (table === "bans") values.push(record.startedAt, recordOfBan(record));
    else values.push(JSON.stringify(record));
    const columns = [...keys, ...others];
    const places = columns.map(() => "?").join();
    this.#db.query(`INSERT OR REPLACE INTO ${table} (${columns.join()}) VALUES (${places})`).run(...values);
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

  /** Bans: oldest first; others in the order of their keys. */
  #rows(table: StateTable): unknown[] {
    const read: (record: string) => unknown = READ[table] ?? JSON.parse;
    const order = table === "bans" ? " ORDER BY started_at, id" : "";
    try {
      const rows = this.#db.query(`SELECT record FROM ${table}${order}`).all() as { record: string }[];
      return rows.map(({ record }) => read(record));
    } catch (cause) {
      throw new DamagedError(this.path, messageOf(cause));
    }
  }
}

/** Records of other tables are plain JSON. */
const READ: { readonly [T in StateTable]?: (record: string) => StateRecords[T] } = {
  bans: banOfRecord,
  attacks: attackOfRecord,
};

function valuesOf({ source, victim }: Pair): string[] {
  return [source, victim];
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
