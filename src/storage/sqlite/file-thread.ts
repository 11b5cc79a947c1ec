/** Calls the thread that owns a file of history, from the event loop. */
import { CallThread } from "../call-thread.ts";
import { StorageFault } from "../storage-fault.ts";
import type { FileAnswer, FileArgument, FileCalls, OpenFile } from "./file-calls.ts";

export class FileThread extends CallThread<FileCalls> {
  /** Resolves when the last query is answered. */
  #lastRequest: Promise<void> = Promise.resolve();

  constructor() {
    super(() => new Worker(new URL("./history-worker.ts", import.meta.url)));
  }

  /** Does nothing if the file is open and its name still refers to it. */
  open(argument: OpenFile): Promise<void> {
    return this.call("open", argument);
  }

  /**
   * One query at a time, since some take seconds: a write waits for one of them at most.
   * @param isWanted called when the query's turn comes: its caller may have given up.
   */
  async ask(argument: FileArgument<"ask">, isWanted: () => boolean): Promise<FileAnswer<"ask">> {
    const { worker } = this;
    const before = this.#lastRequest;
    const answered = Promise.withResolvers<void>();
    this.#lastRequest = answered.promise;
    await before;
    try {
      if (!this.isRunning(worker)) throw new StorageFault("ask", "unavailable", "the thread was ended");
      if (!isWanted()) throw new StorageFault("ask", "unavailable", "the caller has given up");
      return await this.call("ask", argument);
    } finally {
      answered.resolve();
    }
  }
}
