/** What the driver and the threads that own its files say to one another. */
import type { EdgeWindow } from "../../edge/edge-history.ts";
import type { AnswerTo, HistoryBatch, Question, QuestionName } from "../history-driver.ts";
import type { StorageFaultKind } from "../storage-fault.ts";

/** `records`: audit and attacks, which survive a loss of power. `series`: traffic and edge history. */
export type FileRole = "records" | "series";

export interface OpenFile {
  readonly role: FileRole;
  readonly path: string;
  readonly retentionDays: number;
}

/** A call that a file's thread carries out: its argument and its answer. */
export interface FileCalls {
  open(argument: OpenFile): void;
  write(argument: FileBatch): void;
  ask(argument: { readonly name: QuestionName; readonly question: Question<QuestionName> }): AnswerTo<QuestionName>;
  maintain(argument: { readonly nowMs: number }): Promise<void>;
  close(argument: null): void;
}

export type FileCallName = keyof FileCalls;
export type FileArgument<N extends FileCallName> = Parameters<FileCalls[N]>[0];
export type FileAnswer<N extends FileCallName> = Awaited<ReturnType<FileCalls[N]>>;

export interface FileRequest {
  readonly id: number;
  readonly name: FileCallName;
  readonly argument: FileArgument<FileCallName>;
}

export type FileReply =
  | { readonly id: number; readonly kind: "done"; readonly answer: unknown }
  /** Errors lose their class on the way between threads. */
  | { readonly id: number; readonly kind: "failed"; readonly fault: StorageFaultKind; readonly message: string };

/** A batch on its way between threads. Edge windows are thousands a second: as JSON they cost a third of their clone. */
export type FileBatch =
  | Exclude<HistoryBatch, { readonly kind: "edge_windows" }>
  | { readonly kind: "edge_windows"; readonly json: string };

export function toFileBatch(batch: HistoryBatch): FileBatch {
  return batch.kind === "edge_windows" ? { kind: batch.kind, json: JSON.stringify(batch.records) } : batch;
}

export function ofFileBatch(batch: FileBatch): HistoryBatch {
  if (batch.kind !== "edge_windows") return batch;
  return { kind: batch.kind, records: JSON.parse(batch.json) as readonly EdgeWindow[] };
}
