/** What parts of the service throw, as the API answers it. */
import { type EdgeHistory, HistoryFault, ServiceFault } from "../http/backend.ts";
import { InstallFault } from "../sourceblock/source-blocks.ts";
import { StateDatabaseError } from "../storage/state-database.ts";

/** What the disk refused did not happen; the caller is told so and may ask again. */
export function orFault<T>(operation: () => T): T {
  try {
    return operation();
  } catch (cause) {
    if (cause instanceof InstallFault) throw new ServiceFault(cause.message, { cause });
    if (cause instanceof StateDatabaseError) throw new ServiceFault(`${cause.message}; nothing was changed`);
    throw cause;
  }
}

export function orHistoryFaults(edge: EdgeHistory): EdgeHistory {
  return {
    points: (question) => orHistoryFault(edge.points(question)),
    sources: (question) => orHistoryFault(edge.sources(question)),
    events: (question) => orHistoryFault(edge.events(question)),
  };
}

export async function orHistoryFault<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new HistoryFault("the history failed", { cause });
  }
}
