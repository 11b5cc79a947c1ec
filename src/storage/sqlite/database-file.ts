/** Opens a SQLite file of history and brings it to the schema of this build. Runs in the thread that owns the file. */
import { Database, SQLiteError } from "bun:sqlite";
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../system/error-message.ts";
import { StorageFault } from "../storage-fault.ts";

export interface FileOptions {
  readonly path: string;
  /** FULL: what was committed survives a loss of power. NORMAL: it survives the end of the process. */
  readonly synchronous: "FULL" | "NORMAL";
  /** Its log of writes is carried into the file when it is so long, bytes. */
  readonly logBytes: number;
  /** Step n brings a file of version n to n + 1. */
  readonly migrations: readonly string[];
}

/** How long a write waits for another process that reads or copies the file, ms. */
const BUSY_TIMEOUT_MS = 1000;
/** The log that a long run of writes left behind is cut back to this, bytes. */
const JOURNAL_BYTES_KEPT = 64 * 1024 * 1024;
const PAGE_BYTES = 4096;
/** Pages in memory, KiB: with SQLite's own 2 MiB the fold would read the upper levels of its tables again and again. */
const CACHE_KIB = 16 * 1024;

/** Throws a StorageFault that says what to do. */
export function openFile({ path, synchronous, logBytes, migrations }: FileOptions): Database {
  let db: Database | null = null;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
    db = new Database(path, { create: true, strict: true });
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    db.run(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.run("PRAGMA journal_mode = WAL");
    db.run(`PRAGMA synchronous = ${synchronous}`);
    db.run(`PRAGMA journal_size_limit = ${JOURNAL_BYTES_KEPT}`);
    db.run(`PRAGMA wal_autocheckpoint = ${logBytes / PAGE_BYTES}`);
    migrate(db, path, migrations);
    return db;
  } catch (cause) {
    db?.close();
    throw cause instanceof StorageFault ? cause : fileFault("open", path, cause);
  }
}

/** Which file lies under the name now; empty: none that can be seen. */
export function fileIdentity(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.dev} ${stats.ino}`;
}

function migrate(db: Database, path: string, migrations: readonly string[]): void {
  const { user_version: version } = db.query("PRAGMA user_version").get() as { user_version: number };
  if (version > migrations.length) {
    const rule = `${path} has schema version ${version}, this build knows ${migrations.length}`;
    throw new StorageFault("open", "refused", `${rule}: run the build that wrote it, or move the file aside`);
  }
  const upgrade = db.transaction(() => {
    for (const step of migrations.slice(version)) db.run(step);
    // Written also when nothing changed: it proves now, not at the first record, that the disk takes writes.
    db.run(`PRAGMA user_version = ${migrations.length}`);
  });
  upgrade.immediate();
}

/** Whatever SQLite threw, with what to do about it. */
export function fileFault(operation: string, path: string, cause: unknown): StorageFault {
  if (cause instanceof StorageFault) return cause;
  const detail = `${path}: ${messageOf(cause)}`;
  const code = cause instanceof SQLiteError ? (cause.code ?? "") : "";
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) {
    return new StorageFault(operation, "refused", `${detail}: the file is corrupt, move it aside and restart`, {
      cause,
    });
  }
  const isPlace =
    /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|BUSY|LOCKED|PERM|AUTH)/.test(code) || !code.startsWith("SQLITE_");
  return isPlace
    ? new StorageFault(operation, "unavailable", `${detail}: check the folder, its owner and the free space`, { cause })
    : new StorageFault(operation, "refused", detail, { cause });
}
