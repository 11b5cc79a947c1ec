/** Converts errors of the service's parts to errors of the API. */
import { BackendFault, type EdgeHistory, HistoryFault } from "../http/backend.ts";
import { InstallFault, UnsavedEndFault } from "../sourceblock/source-blocks.ts";
import type { HistoryStore } from "../storage/history-store.ts";
import { StateDatabaseError } from "../storage/state-database.ts";
import type { RecordTable } from "../system/record-table.ts";

/** A command that the kernel refused, or whose end the disk did. */
export async function orKernelFault<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (cause) {
    const isOfBlocks = cause instanceof InstallFault || cause instanceof UnsavedEndFault;
    throw isOfBlocks ? new BackendFault(cause.message, { cause }) : cause;
  }
}

async function orDiskFault<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (cause) {
    throw cause instanceof StateDatabaseError ? new BackendFault(`${cause.message}; nothing was changed`) : cause;
  }
}

/** A table of orders: a command that the disk refuses has no effect, and its caller gets an error of the API. */
export function faultingTable<R>(table: RecordTable<R>): RecordTable<R> {
  return {
    queue: (...change) => table.queue(...change),
    save: (...change) => table.save(...change),
    saveAll: (records) => table.saveAll(records),
    write: (...change) => orDiskFault(table.write(...change)),
    get unsaved() {
      return table.unsaved;
    },
    ...(table.sharing && { sharing: table.sharing }),
  };
}

export function edgeHistoryOf(history: Pick<HistoryStore, "ask">): EdgeHistory {
  return {
    points: (question, asker) => orHistoryFault(history.ask("edgePoints", question, asker)),
    sources: (question, asker) => orHistoryFault(history.ask("edgeSources", question, asker)),
    events: (question, asker) => orHistoryFault(history.ask("edgeEvents", question, asker)),
  };
}

export async function orHistoryFault<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new HistoryFault("the history failed", { cause });
  }
}

/** By what failed with the profiles of hosts. */
export const PROFILE_FAULTS = {
  load: "the profiles of hosts cannot be read: they are learned again",
  save: "the profiles of hosts cannot be saved: after a restart they would be learned again",
} as const;

/** The state of exporters; templates come again, some after half an hour. */
export const EXPORTER_FAULTS = {
  load: "what exporters said before the restart cannot be read: their records are not understood until they send their templates",
  save: "what exporters said cannot be saved: after a restart their records would wait for their templates",
} as const;

/** By what learning failed at. */
export const LEARNING_FAULTS = {
  load: "the baselines cannot be read: they are learned again, and until then only the thresholds apply",
  save: "the baselines cannot be saved: after a restart they would be learned again",
  learn: "the baselines were not updated for a second",
} as const;
