/** Calls a thread that owns a file, from the event loop. A failed thread is replaced at the next call. */
import { messageOf } from "../system/error-message.ts";
import { StorageFault, type StorageFaultKind } from "./storage-fault.ts";

/** The calls that a thread carries out, by name; each has one argument. */
type CallsOf<Calls> = { [N in keyof Calls]: (argument: never) => unknown };
type CallArgument<Calls extends CallsOf<Calls>, N extends keyof Calls> = Parameters<Calls[N]>[0];
type CallAnswer<Calls extends CallsOf<Calls>, N extends keyof Calls> = Awaited<ReturnType<Calls[N]>>;

interface Request {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

type Reply =
  | { readonly id: number; readonly kind: "done"; readonly answer: unknown }
  /** Errors lose their class when they are sent between threads. */
  | { readonly id: number; readonly kind: "failed"; readonly fault: StorageFaultKind; readonly message: string };

interface Waiting {
  readonly name: string;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (fault: StorageFault) => void;
}

export class CallThread<Calls extends CallsOf<Calls>> {
  readonly #start: () => Worker;
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  /** @param start starts the thread, which answers by answerCalls(). */
  constructor(start: () => Worker) {
    this.#start = start;
  }

  /** The running thread, started if there is none. */
  get worker(): Worker {
    this.#worker ??= this.#spawn();
    return this.#worker;
  }

  /** False: the thread was ended, or another one took its place. */
  isRunning(worker: Worker): boolean {
    return this.#worker === worker;
  }

  /** Rejects with a StorageFault. */
  call<N extends keyof Calls & string>(name: N, argument: CallArgument<Calls, N>): Promise<CallAnswer<Calls, N>> {
    const { worker } = this;
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { name, resolve: resolve as (answer: unknown) => void, reject });
      worker.postMessage({ id, name, argument } satisfies Request);
    });
  }

  /** Ends the thread in any state. Its pending calls are answered with a fault. */
  end(): void {
    const worker = this.#worker;
    this.#worker = null;
    worker?.terminate();
    this.#failAll("the thread was ended");
  }

  #spawn(): Worker {
    const worker = this.#start();
    worker.onmessage = ({ data }: MessageEvent<Reply>) => this.#answered(data);
    worker.onerror = ({ message }) => {
      if (this.#worker !== worker) return;
      this.#failAll(`the thread failed: ${message}`);
      this.end();
    };
    return worker;
  }

  #answered(reply: Reply): void {
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

/** Called in the thread. */
export function answerCalls<Calls extends CallsOf<Calls>>(self: Worker, calls: Calls): void {
  self.onmessage = async ({ data: { id, name, argument } }: MessageEvent<Request>) => {
    const call = calls[name as keyof Calls] as unknown as (argument: unknown) => unknown;
    self.postMessage(await replyOf(id, () => call(argument)));
  };
}

async function replyOf(id: number, call: () => unknown): Promise<Reply> {
  try {
    return { id, kind: "done", answer: await call() };
  } catch (cause) {
    const fault = cause instanceof StorageFault ? cause.kind : "refused";
    return { id, kind: "failed", fault, message: messageOf(cause) };
  }
}
