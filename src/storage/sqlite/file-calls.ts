/** The messages between the driver and the threads that own its files. */
import type { EdgeWindow } from "../../edge/reports/edge-history.ts";
import type { AnswerTo, GivenUp, HistoryBatch, HistoryQuery, QueryName } from "../history-driver.ts";
import type { RecordCause } from "../record-causes.ts";

/** `records`: audit and attacks, which survive a power loss. `series`: traffic and edge history. */
export type FileRole = "records" | "series";

export interface OpenFile {
  readonly role: FileRole;
  readonly path: string;
  readonly retentionDays: number;
  readonly maxBytes: number;
  /** Maximum size of the records of each cause, bytes; absent: as the disk allows. */
  readonly budgets?: Readonly<Record<RecordCause, number>>;
}

/** The calls that a file's thread carries out: arguments and results. */
export interface FileCalls {
  open(argument: OpenFile): void;
  write(argument: FileBatch): void;
  ask(argument: { readonly name: QueryName; readonly question: HistoryQuery<QueryName> }): AnswerTo<QueryName>;
  maintain(argument: { readonly nowMs: number }): Promise<GivenUp>;
  close(argument: null): void;
}

export type FileArgument<N extends keyof FileCalls> = Parameters<FileCalls[N]>[0];
export type FileAnswer<N extends keyof FileCalls> = Awaited<ReturnType<FileCalls[N]>>;

/**
 * A batch sent between threads. There are thousands of edge windows a second: as JSON they cost a third of cloning
 * them.
 */
type FileBatch =
  | Exclude<HistoryBatch, { readonly kind: "edge_windows" }>
  | { readonly kind: "edge_windows"; readonly json: string };

export function toFileBatch(batch: HistoryBatch): FileBatch {
  return batch.kind === "edge_windows" ? { kind: batch.kind, json: JSON.stringify(batch.records) } : batch;
}

export function ofFileBatch(batch: FileBatch): HistoryBatch {
  if (batch.kind !== "edge_windows") return batch;
  return { kind: batch.kind, records: JSON.parse(batch.json) as readonly EdgeWindow[] };
}
