/**
 * History on this machine: two SQLite files, each owned by a thread. Audit and attacks have their own file, so that
 * writing traffic never delays the audit row of a command.
 */

import { extname } from "node:path";
import type { Tenant } from "../../access/fair-queue.ts";
import type {
  AnswerTo,
  GivenUp,
  HistoryBatch,
  HistoryDriver,
  HistoryQuery,
  QueryName,
  RecordKind,
} from "../history-driver.ts";
import type { RecordCause } from "../record-causes.ts";
import { type FileRole, toFileBatch } from "./file-calls.ts";
import { FileThread } from "./file-thread.ts";

interface SqliteHistoryOptions {
  /** File of traffic and edge history; the file of audit and attacks is beside it. */
  readonly path: string;
  readonly retentionDays: number;
  /** Maximum size of the file of traffic and edge history. */
  readonly maxBytes: number;
  /** Maximum size of the records of each cause in the other file, bytes; absent: as the disk allows. */
  readonly budgets?: Readonly<Record<RecordCause, number>>;
}

const ROLE_OF_KIND: Readonly<Record<RecordKind, FileRole>> = {
  audit: "records",
  attacks: "records",
  traffic: "series",
  edge_windows: "series",
  edge_events: "series",
};

const ROLE_OF_QUERY: Readonly<Record<QueryName, FileRole>> = {
  auditEvents: "records",
  endedAttacks: "records",
  endedAttack: "records",
  trafficPoints: "series",
  trafficTop: "series",
  trafficPeaks: "series",
  edgePoints: "series",
  edgeSources: "series",
  edgeEvents: "series",
};

export class SqliteHistory implements HistoryDriver {
  readonly isForAllBrains = false;
  readonly #options: SqliteHistoryOptions;
  readonly #threads: Readonly<Record<FileRole, FileThread>> = { records: new FileThread(), series: new FileThread() };

  constructor(options: SqliteHistoryOptions) {
    this.#options = options;
  }

  /** If one file cannot be opened, the other one still works. */
  async open(): Promise<void> {
    const { path, retentionDays, maxBytes, budgets } = this.#options;
    const { records, series } = this.#threads;
    const outcomes = await Promise.allSettled([
      records.open({
        ...{ role: "records", path: recordsPath(path), retentionDays, maxBytes: Number.POSITIVE_INFINITY },
        ...(budgets && { budgets }),
      }),
      series.open({ role: "series", path, retentionDays, maxBytes }),
    ]);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }

  write(batch: HistoryBatch): Promise<void> {
    return this.#threads[ROLE_OF_KIND[batch.kind]].call("write", toFileBatch(batch));
  }

  async ask<N extends QueryName>(
    name: N,
    question: HistoryQuery<N>,
    asker: Tenant = null,
    isWanted = () => true,
  ): Promise<AnswerTo<N>> {
    return (await this.#threads[ROLE_OF_QUERY[name]].ask({ name, question }, asker, isWanted)) as AnswerTo<N>;
  }

  async maintain(nowMs: number): Promise<GivenUp> {
    const { records, series } = this.#threads;
    const [givenUp] = await Promise.all([records.call("maintain", { nowMs }), series.call("maintain", { nowMs })]);
    return givenUp;
  }

  async close(): Promise<void> {
    const threads = Object.values(this.#threads);
    await Promise.allSettled(threads.map((thread) => thread.call("close", null)));
    for (const thread of threads) thread.end();
  }
}

/** `history.sqlite` → `history-audit.sqlite`. */
export function recordsPath(path: string): string {
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}-audit${extension}`;
}
