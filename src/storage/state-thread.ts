/** The thread that owns the state database, as the event loop sees it. */
import { CallThread } from "./call-thread.ts";
import type { OpenedState, StateCalls } from "./state-calls.ts";
import type { StateChange } from "./state-change.ts";
import { StateDatabaseError } from "./state-database.ts";
import type { StateFile } from "./state-store.ts";

export class StateThread implements StateFile {
  readonly #stateDir: string;
  readonly #thread = new CallThread<StateCalls>(() => new Worker(new URL("./state-worker.ts", import.meta.url)));

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** Returns what is in the file. Rejects with a StateDatabaseError. */
  async open(): Promise<OpenedState> {
    try {
      return await orStateError(this.#thread.call("open", { stateDir: this.#stateDir }));
    } catch (cause) {
      this.end();
      throw cause;
    }
  }

  /** A thread that replaces a failed one opens the file again. */
  write(changes: readonly StateChange[]): Promise<void> {
    // As JSON they cost the event loop a third of cloning them.
    return orStateError(this.#thread.call("write", { stateDir: this.#stateDir, changesJson: JSON.stringify(changes) }));
  }

  close(): Promise<void> {
    return orStateError(this.#thread.call("close", null));
  }

  end(): void {
    this.#thread.end();
  }
}

async function orStateError<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new StateDatabaseError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
