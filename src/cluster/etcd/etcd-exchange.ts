/**
 * Orders through etcd: each is a key under `orders/`. Reads all of them once, then follows their changes; whatever this
 * brain has and etcd lacks, or has older, it puts there, so that the loss of all of etcd loses nothing. Compares all
 * again when etcd has lost or changed its past, when changes were compacted, and now and then.
 */

import { Backoff } from "../../system/backoff.ts";
import type { Clock } from "../../system/clock.ts";
import { Pause } from "../../system/pause.ts";
import type { Timers } from "../../system/timers.ts";
import {
  FROM_ETCD,
  type OrderExchange,
  type RecordListener,
  type SharedRecord,
  type SharedTable,
} from "../order-exchange.ts";
import { isNewer } from "../stamp.ts";
import type { DataGeneration } from "./data-generation.ts";
import type { EtcdApi } from "./etcd-calls.ts";
import { EtcdFault } from "./etcd-fault.ts";
import type { EtcdChange, EtcdRecord } from "./etcd-wire.ts";
import { type OrderInEtcd, orderIn, orderName } from "./order-record.ts";
import { OrderWriter, type OrderWriterObserver } from "./order-writer.ts";

/** Keys of orders that are read; above the bounds of all tables together. */
const ORDER_KEYS_MAX = 524_288;
const RETRY = { retryMinMs: 200, retryMaxMs: 3000 };
/** A member that is frozen or cut off is noticed after this and the time of an attempt. */
const LOOK_MS = 1000;
const COMPARE_AGAIN_MS = 600_000;
/** How often orders that this brain has from others are compared with what is known of etcd: their brain may be gone. */
const GIVE_AGAIN_MS = 30_000;
/** Records that are handed over at once. */
const BATCH = 512;

interface EtcdExchangeOptions {
  readonly calls: EtcdApi;
  readonly generation: DataGeneration;
  /** The name of this brain. */
  readonly own: string;
  /** The prefix of all keys of the cluster. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly timers: Timers;
  /** All that this brain has, ends too. */
  readonly records: () => Iterable<SharedRecord>;
  /** The longest that an order of the table lasts, ms; its end is kept as long again. */
  readonly lifeMs: (table: SharedTable) => number;
  readonly observer: ExchangeObserver;
}

export interface ExchangeObserver extends OrderWriterObserver {
  /** All orders were compared; `given`: those of this brain that etcd lacked or had older. */
  compared(counts: { readonly found: number; readonly given: number; readonly unusable: number }): void;
  /** Changes are followed, or not any more (`fault`). */
  following(fault: EtcdFault | null): void;
}

/** Why following ended. */
type End = "fault" | "past_changed" | "compare_again";

export class EtcdExchange implements OrderExchange {
  readonly keepsTimes = true;
  readonly #options: EtcdExchangeOptions;
  readonly #writer: OrderWriter;
  readonly #pause: Pause;
  readonly #backoff = new Backoff(RETRY);
  readonly #listeners: RecordListener[] = [];
  #abort = new AbortController();
  #running: Promise<void> | null = null;
  #isClosed = false;
  /** null: not known yet. */
  #isFollowing: boolean | null = null;
  #fault: { readonly fault: EtcdFault; readonly sinceMs: number } | null = null;
  /** The generation of the data that were compared; null: they are to be compared. */
  #generationId: string | null = null;
  /** The last revision of which all changes were taken. */
  #revision = 0;
  #comparedMs = 0;
  #givenMs = 0;
  /** Orders that did not find room among those that wait are found by the next comparison. */
  #hasLeftOut = false;
  #isLooking = false;
  #handing: Promise<void> = Promise.resolve();

  constructor(options: EtcdExchangeOptions) {
    this.#options = options;
    this.#pause = new Pause(options.timers);
    const { observer } = options;
    this.#writer = new OrderWriter({
      calls: options.calls,
      own: options.own,
      timers: options.timers,
      prefix: `${options.prefix}orders/`,
      onNewer: (record) => this.#give([record]),
      observer: {
        written: () => observer.written(),
        superseded: () => observer.superseded(),
        failed: (fault) => observer.failed(fault),
        leftOut: (record) => {
          this.#hasLeftOut = true;
          observer.leftOut(record);
        },
      },
    });
  }

  /** Whether changes of other brains arrive. */
  get isFollowing(): boolean {
    return this.#isFollowing === true;
  }

  /** Why changes do not arrive, and since when (monotonic, ms); null: they do, or it has not been tried yet. */
  get fault(): { readonly fault: EtcdFault; readonly sinceMs: number } | null {
    return this.#fault;
  }

  /** Orders that are not in etcd yet. */
  get waiting(): number {
    return this.#writer.waiting;
  }

  publish(record: SharedRecord): Promise<boolean> {
    return this.#writer.write(record);
  }

  onRecords(listener: RecordListener): void {
    this.#listeners.push(listener);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#abort.abort();
    this.#pause.end();
    this.#writer.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#once();
      } catch (cause) {
        if (!(cause instanceof EtcdFault)) throw cause;
        if (cause.kind === "compacted") this.#generationId = null;
        this.#followed(cause);
        if (!this.#isClosed) await this.#pause.wait(this.#backoff.next());
      }
    }
  }

  /** Compares all where that is due, then follows changes until something ends that. */
  async #once(): Promise<void> {
    const { id } = await this.#options.generation.look();
    if (id !== this.#generationId || this.#isComparisonDue()) await this.#compareAll(id);
    this.#writer.retry();
    await this.#follow();
  }

  #isComparisonDue(): boolean {
    const isOld = this.#options.clock.monotonicMs() - this.#comparedMs >= COMPARE_AGAIN_MS;
    return isOld || (this.#hasLeftOut && this.#writer.waiting === 0);
  }

  async #compareAll(generationId: string): Promise<void> {
    const { calls, observer, clock } = this.#options;
    // Their revisions may be those of data that are gone.
    this.#writer.forget();
    const { header, records: found } = await calls.list(this.#prefix, ORDER_KEYS_MAX);
    this.#hasLeftOut = false;
    const seen = found.map((record) => ({ record, order: this.#seen(record) }));
    const forgotten = seen.filter(({ order }) => order !== null && this.#isForgotten(order));
    this.#give(seen.flatMap(({ order }) => (order === null || this.#isForgotten(order) ? [] : [order])));
    const given = this.#giveLacking();
    this.#generationId = generationId;
    this.#revision = header.revision;
    this.#comparedMs = clock.monotonicMs();
    const unusable = seen.filter(({ order }) => order === null).length;
    observer.compared({ found: found.length, given, unusable });
    await this.#remove(forgotten.map(({ record }) => record));
  }

  /** Puts there what etcd lacks or has older, as far as is known. Returns the number of such orders. */
  #giveLacking(): number {
    const { records, clock } = this.#options;
    const lacking = [...records()].filter((own) => isNewer(own.stamp, this.#writer.stampOf(orderName(own))));
    for (const own of lacking) void this.#writer.write(own);
    this.#givenMs = clock.monotonicMs();
    return lacking.length;
  }

  /** Its end too may be forgotten by every brain by now. */
  #isForgotten({ shared: { table, stamp } }: OrderInEtcd): boolean {
    const { lifeMs, clock } = this.#options;
    return clock.wallMs() - stamp.ms > 2 * lifeMs(table);
  }

  /** Takes the value of a key; null: no order. */
  #seen({ key, value, modRevision }: EtcdRecord): OrderInEtcd | null {
    const name = key.slice(this.#prefix.length);
    const order = orderIn(name, value);
    this.#writer.saw(name, { revision: modRevision, stamp: order?.shared.stamp ?? null });
    return order;
  }

  async #remove(records: readonly EtcdRecord[]): Promise<void> {
    for (const { key, modRevision } of records) {
      await this.#options.calls.txn({
        compare: [{ key, target: "MOD", revision: modRevision }],
        success: [{ kind: "remove", key }],
        failure: [],
      });
    }
  }

  /** Rejects with the fault that ended it; resolves when all is to be looked at again. */
  async #follow(): Promise<void> {
    const { calls, timers } = this.#options;
    this.#abort = new AbortController();
    const abort = this.#abort;
    if (this.#isClosed) return;
    let end: End = "fault";
    const endpoint = calls.endpoint;
    const stop = timers.every(LOOK_MS, () => {
      void this.#look(endpoint).then((found) => {
        if (found === null || abort.signal.aborted) return;
        end = found;
        abort.abort();
      });
    });
    try {
      const start = { prefix: this.#prefix, fromRevision: this.#revision + 1 };
      await calls.watch(start, (changes) => this.#take(changes), abort);
      throw new EtcdFault("unreachable", "etcd has ended the watch");
    } catch (cause) {
      if (end === "fault") throw cause;
    } finally {
      stop();
    }
  }

  /**
   * Asks the member whose changes are followed for what a majority agrees on: a member that is frozen, or cut off from the
   * others, does not answer. null: all is well.
   */
  async #look(endpoint: URL): Promise<End | null> {
    if (this.#isLooking) return null;
    this.#isLooking = true;
    const { generation, calls, clock } = this.#options;
    try {
      const { id } = await generation.look({ endpoint });
      this.#followed(null);
      if (id !== this.#generationId) return "past_changed";
      if (clock.monotonicMs() - this.#givenMs >= GIVE_AGAIN_MS) this.#giveLacking();
      return this.#isComparisonDue() ? "compare_again" : null;
    } catch (cause) {
      if (!(cause instanceof EtcdFault)) throw cause;
      calls.leave(endpoint, cause);
      this.#followed(cause);
      return "past_changed";
    } finally {
      this.#isLooking = false;
    }
  }

  #take(changes: readonly EtcdChange[]): void {
    this.#followed(null);
    const orders: OrderInEtcd[] = [];
    for (const change of changes) {
      if (change.kind === "put") {
        this.#revision = Math.max(this.#revision, change.record.modRevision);
        const order = this.#seen(change.record);
        if (order !== null) orders.push(order);
      } else {
        this.#revision = Math.max(this.#revision, change.modRevision);
        this.#writer.sawRemoved(change.key.slice(this.#prefix.length));
      }
    }
    this.#give(orders);
  }

  /** One batch after the other: what a disk does not take at once waits there, and nothing is to be confirmed to etcd. */
  #give(orders: readonly OrderInEtcd[]): void {
    const { own } = this.#options;
    const records = orders.map(({ shared, clock }) => (clock === own ? shared : { ...shared, clock }));
    for (let first = 0; first < records.length; first += BATCH) {
      const batch = records.slice(first, first + BATCH);
      this.#handing = this.#handing.then(async () => {
        if (this.#isClosed) return;
        for (const listener of this.#listeners) await listener(batch, FROM_ETCD);
      });
    }
  }

  #followed(fault: EtcdFault | null): void {
    const sinceMs = this.#fault?.sinceMs ?? this.#options.clock.monotonicMs();
    this.#fault = fault === null ? null : { fault, sinceMs };
    if (this.#isFollowing === (fault === null)) return;
    this.#isFollowing = fault === null;
    if (fault === null) this.#backoff.reset();
    if (!this.#isClosed) this.#options.observer.following(fault);
  }

  get #prefix(): string {
    return `${this.#options.prefix}orders/`;
  }
}
