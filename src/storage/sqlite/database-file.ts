/**
 * Opens a SQLite file of history and migrates it to the schema of this build. Runs in the thread that owns the file.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../system/error-message.ts";
import { StorageFault } from "../storage-fault.ts";

interface FileOptions {
  readonly path: string;
  /** FULL: what was committed survives a loss of power. NORMAL: it survives the end of the process. */
  readonly synchronous: "FULL" | "NORMAL";
  /** The write-ahead log is checkpointed at this size, bytes. */
  readonly logBytes: number;
  /** A write that would make the file larger fails; a file that is larger already does not grow. */
  readonly maxBytes: number;
  /** Statement n migrates a file from version n to n + 1. */
  readonly migrations: readonly string[];
}

/** How long a write waits for another process that reads or copies the file, ms. */
const BUSY_TIMEOUT_MS = 1000;
/** A larger write-ahead log is truncated to this, bytes. */
const JOURNAL_BYTES_KEPT = 64 * 1024 * 1024;
const PAGE_BYTES = 4096;
/** Page cache, KiB: with SQLite's default of 2 MiB aggregation would read the upper levels of its tables repeatedly. */
const CACHE_KIB = 16 * 1024;

/** Throws a StorageFault that says what to do. */
export function openFile({ path, synchronous, logBytes, maxBytes, migrations }: FileOptions): Database {
  let db: Database | null = null;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    db = new Database(path, { create: true, strict: true });
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    db.run(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.run("PRAGMA journal_mode = WAL");
    db.run(`PRAGMA synchronous = ${synchronous}`);
    db.run(`PRAGMA journal_size_limit = ${JOURNAL_BYTES_KEPT}`);
    db.run(`PRAGMA wal_autocheckpoint = ${logBytes / PAGE_BYTES}`);
    if (Number.isFinite(maxBytes)) db.run(`PRAGMA max_page_count = ${Math.floor(maxBytes / PAGE_BYTES)}`);
    migrate(db, path, migrations);
    return db;
  } catch (cause) {
    db?.close();
    throw cause instanceof StorageFault ? cause : fileFault("open", path, cause);
  }
}

/** Bytes of the file that hold rows; removed rows leave pages that later ones take. */
export function usedBytes(db: Database): number {
  const { pages } = db
    .query("SELECT page_count - freelist_count AS pages FROM pragma_page_count, pragma_freelist_count")
    .get() as {
    pages: number;
  };
  return pages * PAGE_BYTES;
}

/** Identity of the file that has this name now; empty: none is visible. */
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
    // Written even if nothing changed: it shows at the start, not at the first record, whether the disk accepts writes.
    db.run(`PRAGMA user_version = ${migrations.length}`);
  });
  upgrade.immediate();
}

/** Any error of SQLite, with what to do about it. */
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
