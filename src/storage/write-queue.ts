/**
 * A queue of records of one kind for the store: bounded, written in order, one batch at a time. Records that cannot be
 * written now wait and are tried again; adding a record never blocks. In a full queue the newest record of the tenant that
 * has the most is dropped, never one of the administrator (null) for others.
 */
import type { Tenant } from "../access/fair-queue.ts";

import { Backoff } from "../system/backoff.ts";
import { Pause } from "../system/pause.ts";
import type { Timers } from "../system/timers.ts";
import { StorageFault } from "./storage-fault.ts";

/**
 * Attempts to write a batch that the store refuses. While the store is unreachable, batches wait as long as there is
 * room.
 */
export const HISTORY_TRIES_MAX = 5;

interface WriteQueueOptions<T> {
  /** Records that may wait, including those being written; further ones are dropped. */
  readonly bound: number;
  readonly batch: number;
  /** How long a batch that is not full waits for more before it is written, ms. */
  readonly gatherMs: number;
  readonly timers: Pick<Timers, "after">;
  /** The owner of a record: in a full queue one of the owner with the most is dropped. Absent: no owner. */
  readonly tenantOf?: (record: T) => Tenant;
  readonly write: (records: readonly T[]) => Promise<void>;
  readonly onFault: (cause: unknown) => void;
  readonly onDropped: (records: number) => void;
  readonly onDepth: (records: number) => void;
}

/** `dropped`: the queue was full, the store refused the record repeatedly, or the queue was closed. */
export type WriteOutcome = "stored" | "dropped";

interface Entry<T> {
  readonly record: T;
  readonly settle: (outcome: WriteOutcome) => void;
}

export class WriteQueue<T> {
  readonly #options: WriteQueueOptions<T>;
  readonly #pause: Pause;
  #entries: Entry<T>[] = [];
  #pumping: Promise<void> | null = null;
  #isDraining = false;
  #isGathering = false;
  #isFailing = false;
  #isClosed = false;
  /** The first entries, which are being written. */
  #writing = 0;

  constructor(options: WriteQueueOptions<T>) {
    this.#options = options;
    this.#pause = new Pause(options.timers);
  }

  get depth(): number {
    return this.#entries.length;
  }

  /** Whether the last write failed, so that the records are tried again later. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Never rejects. */
  push(record: T): Promise<WriteOutcome> {
    if (this.#isClosed || (this.#entries.length >= this.#options.bound && !this.#makeRoom(record))) {
      this.#options.onDropped(1);
      return Promise.resolve("dropped");
    }
    return new Promise((settle) => {
      this.#entries.push({ record, settle });
      this.#options.onDepth(this.#entries.length);
      if (this.#isGathering && this.#entries.length >= this.#options.batch) this.wake();
      this.#pumping ??= this.#pump();
    });
  }

  /** Writes the waiting records at once, also after a failure. */
  wake(): void {
    this.#pause.end();
  }

  /** Resolves when all records are written, or when a write fails; the remaining records stay in the queue. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.wake();
    await this.#pumping;
  }

  /** Drops the remaining records and accepts no more. */
  close(): void {
    this.#isClosed = true;
    this.#remove(this.#entries.length, "dropped");
    this.wake();
  }

  async #pump(): Promise<void> {
    // Not within push(): records added in the same turn are written in one batch.
    await Promise.resolve();
    const backoff = new Backoff({ retryMinMs: 1000, retryMaxMs: 30_000 });
    for (let refusals = 0; this.#entries.length > 0; ) {
      if (!this.#isFailing) await this.#gather();
      if (this.#isClosed) break;
      const batch = this.#entries.slice(0, this.#options.batch);
      this.#writing = batch.length;
      try {
        await this.#options.write(batch.map(({ record }) => record));
        this.#isFailing = false;
        this.#remove(batch.length, "stored");
        backoff.reset();
        refusals = 0;
      } catch (cause) {
        this.#isFailing = true;
        this.#writing = 0;
        this.#options.onFault(cause);
        if (!(cause instanceof StorageFault) || cause.kind === "refused") refusals++;
        if (refusals >= HISTORY_TRIES_MAX) {
          this.#isFailing = false;
          this.#remove(batch.length, "dropped");
          backoff.reset();
          refusals = 0;
        } else if (this.#isDraining) break;
        else await this.#pause.wait(backoff.next());
      }
    }
    this.#pumping = null;
  }

  /** False: no owner has more than the owner of the new record. */
  #makeRoom(record: T): boolean {
    const { tenantOf = () => null, onDropped } = this.#options;
    const waiting = this.#entries.slice(this.#writing);
    const byTenant = Map.groupBy(waiting, (entry) => tenantOf(entry.record));
    const tenant = tenantOf(record);
    const own = tenant === null ? 0 : (byTenant.get(tenant)?.length ?? 0);
    byTenant.delete(null);
    const [most = []] = [...byTenant.values()].sort((a, b) => b.length - a.length);
    const newest = most.at(-1);
    if (newest === undefined || most.length <= own) return false;
    this.#entries.splice(this.#entries.lastIndexOf(newest), 1);
    newest.settle("dropped");
    onDropped(1);
    return true;
  }

  async #gather(): Promise<void> {
    const { batch, gatherMs } = this.#options;
    if (gatherMs === 0 || this.#isDraining || this.#entries.length >= batch) return;
    this.#isGathering = true;
    await this.#pause.wait(gatherMs);
    this.#isGathering = false;
  }

  /** A batch that close() dropped while it was being written is not in the queue any more. */
  #remove(count: number, outcome: WriteOutcome): void {
    const removed = this.#entries.splice(0, count);
    this.#writing = 0;
    for (const { settle } of removed) settle(outcome);
    if (outcome === "dropped" && removed.length > 0) this.#options.onDropped(removed.length);
    if (removed.length > 0) this.#options.onDepth(this.#entries.length);
  }
}
