/**
 * Reads a large table for all callers, in slices between which other requests run. One pass runs at a time; callers
 * that arrive meanwhile share the next one; over its bound, tenants take turns. So an answer never misses earlier
 * changes, and each view of the table is written once for any number of callers.
 */
import { FairQueue, type Tenant } from "../access/fair-queue.ts";
import { PASS_READERS_MAX } from "../limits.ts";
import type { Clock } from "../system/clock.ts";

/** Builds an answer from the items of one pass. */
export interface Reader<Item> {
  see(item: Item): void;
  /** At once, or in steps if it takes long. */
  answer(): Blob | Generator<undefined, Blob>;
}

export interface Slicing {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Lets other work run between two slices. */
  readonly nextTurn: () => Promise<void>;
}

interface Waiting<Item> {
  readonly makeReader: () => Reader<Item>;
  readonly answer: PromiseWithResolvers<Blob>;
}

/** Duration of one slice, ms. */
export const SLICE_MS = 2;

export class TablePass<Item> {
  readonly #items: () => Iterable<Item | undefined>;
  readonly #slicing: Slicing;
  /** By view; each has at least one open request. */
  readonly #waiting = new Map<string, Waiting<Item>>();
  /** These views, in the order of the requests. */
  readonly #turns = new FairQueue<string>();
  #isRunning = false;

  /**
   * @param items the current items; read by one pass at a time, while the event loop runs in between. undefined: a step
   * that has no item yet, such as one of sorting them.
   */
  constructor(items: () => Iterable<Item | undefined>, slicing: Slicing) {
    this.#items = items;
    this.#slicing = slicing;
  }

  /** Returns the answer of a pass that starts after this call. Callers that wait for the same view share it. */
  read(view: string, makeReader: () => Reader<Item>, tenant: Tenant = null): Promise<Blob> {
    const waiting = this.#waiting.get(view) ?? { makeReader, answer: Promise.withResolvers<Blob>() };
    if (!this.#waiting.has(view)) this.#turns.push(tenant, view);
    this.#waiting.set(view, waiting);
    if (!this.#isRunning) void this.#run();
    return waiting.answer.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const batch = this.#takeWaiting();
      try {
        await inSlices(this.#pass(batch), this.#slicing);
      } catch (cause) {
        for (const { answer } of batch) answer.reject(cause);
      }
    }
    this.#isRunning = false;
  }

  /** Some views by turns. A reader needs much more memory than a waiting request. */
  #takeWaiting(): Waiting<Item>[] {
    return Array.from({ length: Math.min(PASS_READERS_MAX, this.#turns.size) }, () => {
      const view = this.#turns.shift() as string;
      const waiting = this.#waiting.get(view) as Waiting<Item>;
      this.#waiting.delete(view);
      return waiting;
    });
  }

  *#pass(batch: readonly Waiting<Item>[]): Generator<undefined, void> {
    const readers = batch.map(({ makeReader, answer }) => ({ reader: makeReader(), answer }));
    for (const item of this.#items()) {
      if (item !== undefined) for (const { reader } of readers) reader.see(item);
      yield;
    }
    for (const { reader, answer } of readers) {
      const made = reader.answer();
      answer.resolve(made instanceof Blob ? made : yield* made);
      yield;
    }
  }
}

/** Work in steps of several callers: one after the other, so that together they take one slice of a turn. */
export class SlicedWork {
  readonly #slicing: Slicing;
  #last: Promise<unknown> = Promise.resolve();

  constructor(slicing: Slicing) {
    this.#slicing = slicing;
  }

  /** Resolves with what it returns. */
  run<T>(work: Iterator<undefined, T>): Promise<T> {
    const made = this.#last.then(() => inSlices(work, this.#slicing));
    this.#last = made.catch(() => {});
    return made;
  }
}

/** Takes the steps of `work` in a part of each turn, and resolves with what it returns. */
async function inSlices<T>(work: Iterator<undefined, T>, { clock, nextTurn }: Slicing): Promise<T> {
  let sliceEndMs = clock.monotonicMs() + SLICE_MS;
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (clock.monotonicMs() < sliceEndMs) continue;
    await nextTurn();
    sliceEndMs = clock.monotonicMs() + SLICE_MS;
  }
}
