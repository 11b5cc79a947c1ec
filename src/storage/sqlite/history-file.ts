/** One SQLite file of history with its tables. Runs in the thread that owns the file; all calls block. */

import type { Database } from "bun:sqlite";
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { DAY_MS, MINUTE_MS } from "../../system/now.ts";

import type { AnswerTo, GivenUp, HistoryBatch, HistoryQueries, HistoryQuery, QueryName } from "../history-driver.ts";
import { RECORD_BUDGETS, RECORD_CAUSES, type RecordCause } from "../record-causes.ts";
import type { StorageFault } from "../storage-fault.ts";
import { ATTACK_SCHEMA, AttackTable } from "./attack-table.ts";
import { AUDIT_SCHEMA, AuditTable } from "./audit-table.ts";
import { fileFault, fileIdentity, openFile, usedBytes } from "./database-file.ts";
import { EDGE_SCHEMA, EdgeTables } from "./edge-tables.ts";
import type { FileRole, OpenFile } from "./file-calls.ts";
import { RECORD_USAGE, RecordBudgets } from "./record-budgets.ts";
import { aggregateTraffic, oldestTrafficMs, removeTrafficBefore } from "./traffic-aggregation.ts";
import { trafficPeaks } from "./traffic-peaks.ts";
import { TRAFFIC_DEVIATIONS, TRAFFIC_MAXIMA, TRAFFIC_SCHEMA, TrafficTables } from "./traffic-tables.ts";

/**
 * Free space that history leaves on its disk for the state database, bytes: traffic and edge history stop first, then
 * audit and attacks. On a small disk it is a share of it.
 */
export const HISTORY_RESERVES = {
  series: { bytes: 256 * 1024 * 1024, share: 0.1 },
  records: { bytes: 64 * 1024 * 1024, share: 0.025 },
} as const;

const MIGRATIONS: Readonly<Record<FileRole, readonly string[]>> = {
  records: [AUDIT_SCHEMA + ATTACK_SCHEMA, RECORD_USAGE],
  series: [TRAFFIC_SCHEMA + EDGE_SCHEMA, TRAFFIC_MAXIMA, TRAFFIC_DEVIATIONS],
};

/**
 * Edge windows of a thousand zones change a thousand pages, and the same pages again ten seconds later: with SQLite's
 * default log of 4 MB there would be many checkpoints a second.
 */
const WRITING = {
  records: { synchronous: "FULL", logBytes: 4 * 1024 * 1024 },
  series: { synchronous: "NORMAL", logBytes: 64 * 1024 * 1024 },
} as const;

/** Beyond this share of its size, the oldest history is removed: one of PARTS parts of its time, then the next. */
const FULL_SHARE = 0.9;
const PARTS = 50;

export class HistoryFile {
  readonly #path: string;
  readonly #db: Database;
  readonly #identity: string;
  readonly #role: FileRole;
  readonly #retentionDays: number;
  readonly #maxBytes: number;
  readonly #audit: AuditTable;
  readonly #attacks: AttackTable;
  readonly #traffic: TrafficTables;
  readonly #edge: EdgeTables;
  /** null: the file has no records. */
  readonly #budgets: RecordBudgets | null;

  /** Throws a StorageFault. */
  constructor({ role, path, retentionDays, maxBytes, budgets }: OpenFile) {
    this.#path = path;
    this.#role = role;
    this.#retentionDays = retentionDays;
    this.#maxBytes = maxBytes;
    this.#db = openFile({ path, ...WRITING[role], maxBytes, migrations: MIGRATIONS[role] });
    this.#identity = fileIdentity(path);
    this.#audit = new AuditTable(this.#db);
    this.#attacks = new AttackTable(this.#db);
    this.#traffic = new TrafficTables(this.#db);
    this.#edge = new EdgeTables(this.#db);
    this.#budgets = role === "records" ? new RecordBudgets(this.#db, budgets ?? budgetsOn(path)) : null;
  }

  /** Records that later ones replaced since the last call. */
  takeGivenUp(): GivenUp {
    return this.#budgets?.takeGivenUp() ?? {};
  }

  /** False: the file was removed or replaced, and what is written into the open one would be lost. */
  isInPlace(): boolean {
    return this.#identity !== "" && fileIdentity(this.#path) === this.#identity;
  }

  /** All of them or none. */
  write(batch: HistoryBatch): void {
    try {
      if (!this.isInPlace()) throw new Error("the open file was removed or replaced, another one is opened soon");
      this.#leaveReserve();
      const insert = () => {
        this.#insert(batch);
        this.#budgets?.settle();
      };
      this.#db.transaction(insert).immediate();
    } catch (cause) {
      this.#traffic.forgetIds();
      throw this.#fault(`write ${batch.kind}`, cause);
    }
  }

  ask<N extends QueryName>(name: N, question: HistoryQuery<N>): AnswerTo<N> {
    const answers: HistoryQueries = {
      auditEvents: (question) => this.#audit.select(question),
      endedAttacks: (question) => this.#attacks.ended(question),
      endedAttack: ({ id }) => this.#attacks.endedOf(id),
      trafficPoints: (question) => this.#traffic.points(question),
      trafficTop: (question) => this.#traffic.top(question),
      trafficPeaks: (question) => trafficPeaks(this.#db, question, this.#traffic.frontier()),
      edgePoints: (question) => this.#edge.points(question),
      edgeSources: (question) => this.#edge.sources(question),
      edgeEvents: (question) => this.#edge.events(question),
    };
    try {
      return (answers[name] as (question: HistoryQuery<N>) => AnswerTo<N>)(question);
    } catch (cause) {
      throw this.#fault(`read ${name}`, cause);
    }
  }

  /** Works in slices, so that the caller can run other work in between. */
  *maintain(nowMs: number): Generator<void> {
    try {
      yield* this.#role === "records" ? this.#removeOldRecords(nowMs) : this.#maintainSeries(nowMs);
    } catch (cause) {
      throw this.#fault("maintain", cause);
    }
  }

  close(): void {
    this.#db.close();
  }

  #insert(batch: HistoryBatch): void {
    switch (batch.kind) {
      case "audit":
        this.#audit.insert(batch.records);
        break;
      case "attacks":
        this.#attacks.save(batch.records);
        break;
      case "traffic":
        this.#traffic.insert(batch.records);
        break;
      case "edge_windows":
        this.#edge.insertWindows(batch.records);
        break;
      case "edge_events":
        this.#edge.insertEvents(batch.records);
        break;
      default:
        batch satisfies never;
    }
  }

  *#removeOldRecords(nowMs: number): Generator<void> {
    const before = nowMs - this.#retentionDays * DAY_MS;
    this.#audit.removeBefore(before);
    yield;
    this.#attacks.removeBefore(before);
  }

  /** The state database shares the disk, and must find room on it. */
  #leaveReserve(): void {
    const { bavail, blocks, bsize } = statfsSync(dirname(this.#path));
    const { bytes, share } = HISTORY_RESERVES[this.#role];
    const reserve = Math.min(bytes, share * blocks * bsize);
    if (bavail * bsize >= reserve) return;
    throw new Error(
      `less than ${(reserve / 1e6).toFixed(1)} MB are free on its disk, which are left to the state database`,
    );
  }

  *#maintainSeries(nowMs: number): Generator<void> {
    yield* aggregateTraffic(this.#db, Math.floor(nowMs / 1000), this.#retentionDays);
    yield* this.#removeEdgeBefore(nowMs - this.#retentionDays * DAY_MS);
    yield* this.#keepWithinBudget(nowMs);
  }

  /** Removes the oldest history, a part of its time at once, until there is room for what comes before the next call. */
  *#keepWithinBudget(nowMs: number): Generator<void> {
    for (let part = 0; part < PARTS && usedBytes(this.#db) > this.#maxBytes * FULL_SHARE; part++) {
      const oldestMs = Math.min(oldestTrafficMs(this.#db) ?? nowMs, this.#edge.oldestMs() ?? nowMs);
      const before = oldestMs + Math.max(MINUTE_MS, (nowMs - oldestMs) / PARTS);
      yield* removeTrafficBefore(this.#db, Math.floor(before / 1000));
      yield* this.#removeEdgeBefore(before);
    }
  }

  *#removeEdgeBefore(before: number): Generator<void> {
    for (const zone of this.#edge.zones()) {
      this.#edge.removeZoneBefore(zone, before);
      yield;
    }
    this.#edge.removeEventsBefore(before);
  }

  #fault(operation: string, cause: unknown): StorageFault {
    return fileFault(operation, this.#path, cause);
  }
}

function budgetsOn(path: string): Readonly<Record<RecordCause, number>> {
  const { blocks, bsize } = statfsSync(dirname(path));
  const budgetOf = (cause: RecordCause) => {
    const { bytes, share } = RECORD_BUDGETS[cause];
    return Math.min(bytes, share * blocks * bsize);
  };
  return Object.fromEntries(RECORD_CAUSES.map((cause) => [cause, budgetOf(cause)])) as Record<RecordCause, number>;
}
