/** Calls the thread that owns a file of history, from the event loop. */
import { FairQueue, type Tenant } from "../../access/fair-queue.ts";
import { CallThread } from "../call-thread.ts";
import { StorageFault } from "../storage-fault.ts";
import type { FileAnswer, FileArgument, FileCalls, OpenFile } from "./file-calls.ts";

export class FileThread extends CallThread<FileCalls> {
  readonly #questions = new FairQueue<() => void>();
  #isAsking = false;

  constructor() {
    super(() => new Worker(new URL("./history-worker.ts", import.meta.url)));
  }

  /** Does nothing if the file is open and its name still refers to it. */
  open(argument: OpenFile): Promise<void> {
    return this.call("open", argument);
  }

  /**
   * One query at a time, since some take seconds: a write waits for one of them at most. The tenants take turns.
   * @param isWanted called when the query's turn comes: its caller may have given up.
   */
  async ask(argument: FileArgument<"ask">, asker: Tenant, isWanted: () => boolean): Promise<FileAnswer<"ask">> {
    const { worker } = this;
    await this.#turnOf(asker);
    try {
      if (!this.isRunning(worker)) throw new StorageFault("ask", "unavailable", "the thread was ended");
      if (!isWanted()) throw new StorageFault("ask", "unavailable", "the caller has given up");
      return await this.call("ask", argument);
    } finally {
      const next = this.#questions.shift();
      if (next === undefined) this.#isAsking = false;
      else next();
    }
  }

  #turnOf(tenant: Tenant): Promise<void> {
    if (this.#isAsking) return new Promise((resolve) => this.#questions.push(tenant, resolve));
    this.#isAsking = true;
    return Promise.resolve();
  }
}
