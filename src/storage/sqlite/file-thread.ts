/** Calls the thread that owns a file, from the event loop. A failed thread is replaced at the next open(). */
import { StorageFault } from "../storage-fault.ts";
import type { FileAnswer, FileArgument, FileCallName, FileReply, FileRequest, OpenFile } from "./file-calls.ts";

interface Waiting {
  readonly name: FileCallName;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (fault: StorageFault) => void;
}

export class FileThread {
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  /** Resolves when the last query is answered. */
  #lastRequest: Promise<void> = Promise.resolve();

  /** Does nothing if the file is open and its name still refers to it. */
  open(argument: OpenFile): Promise<void> {
    return this.call("open", argument);
  }

  call<N extends FileCallName>(name: N, argument: FileArgument<N>): Promise<FileAnswer<N>> {
    this.#worker ??= this.#spawn();
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { name, resolve: resolve as (answer: unknown) => void, reject });
      worker.postMessage({ id, name, argument } satisfies FileRequest);
    });
  }

  /**
   * One query at a time, since some take seconds: a write waits for one of them at most.
   * @param isWanted called when the query's turn comes: its caller may have given up.
   */
  async ask(argument: FileArgument<"ask">, isWanted: () => boolean): Promise<FileAnswer<"ask">> {
    this.#worker ??= this.#spawn();
    const worker = this.#worker;
    const before = this.#lastRequest;
    const answered = Promise.withResolvers<void>();
    this.#lastRequest = answered.promise;
    await before;
    try {
      if (this.#worker !== worker) throw new StorageFault("ask", "unavailable", "the thread was ended");
      if (!isWanted()) throw new StorageFault("ask", "unavailable", "the caller has given up");
      return await this.call("ask", argument);
    } finally {
      answered.resolve();
    }
  }

  /** Ends the thread in any state. Its pending calls are answered with a fault. */
  end(): void {
    const worker = this.#worker;
    this.#worker = null;
    worker?.terminate();
    this.#failAll("the thread was ended");
  }

  #spawn(): Worker {
    const worker = new Worker(new URL("./history-worker.ts", import.meta.url));
    worker.onmessage = ({ data }: MessageEvent<FileReply>) => this.#answered(data);
    worker.onerror = ({ message }) => {
      if (this.#worker !== worker) return;
      this.#failAll(`the thread failed: ${message}`);
      this.end();
    };
    return worker;
  }

  #answered(reply: FileReply): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return;
    this.#waiting.delete(reply.id);
    if (reply.kind === "done") waiting.resolve(reply.answer);
    else waiting.reject(new StorageFault(waiting.name, reply.fault, reply.message));
  }

  #failAll(detail: string): void {
    for (const { name, reject } of this.#waiting.values()) reject(new StorageFault(name, "unavailable", detail));
    this.#waiting.clear();
  }
}
