/**
 * Writes orders to etcd until each is there: of one key only the newest, and never over a newer one (a transaction that
 * compares the revision of the key). Knows neither watches nor where orders come from.
 */
import { Backoff } from "../../system/backoff.ts";
import { Pause } from "../../system/pause.ts";
import type { Timers } from "../../system/timers.ts";
import type { SharedRecord } from "../order-exchange.ts";
import { compareStamps, isNewer, type Stamp } from "../stamp.ts";
import type { EtcdApi } from "./etcd-calls.ts";
import { EtcdFault } from "./etcd-fault.ts";
import { ORDER_BYTES_MAX, type OrderInEtcd, orderIn, orderName, orderText } from "./order-record.ts";

/** Orders that wait at once; more are left to the next comparison of all orders. */
const WAITING_ORDERS_MAX = 65_536;
const WRITERS = 8;
const RETRY = { retryMinMs: 200, retryMaxMs: 3000 };

/** The value under one key at a revision; 0: none. */
interface Present {
  readonly revision: number;
  /** null: nothing, or no order. */
  readonly stamp: Stamp | null;
}

interface OrderWriterOptions {
  readonly calls: EtcdApi;
  /** The name of this brain. */
  readonly own: string;
  /** The prefix of orders, with a slash at its end. */
  readonly prefix: string;
  readonly timers: Pick<Timers, "after">;
  /** A newer one than that which was to be written is there. */
  readonly onNewer: (order: OrderInEtcd) => void;
  readonly observer: OrderWriterObserver;
}

export interface OrderWriterObserver {
  written(): void;
  /** A newer one was there. */
  superseded(): void;
  failed(fault: EtcdFault): void;
  /** It does not wait: there are too many, or it is too large. */
  leftOut(record: SharedRecord): void;
}

interface Waiting {
  record: SharedRecord;
  /** Resolved with the outcome of the first attempt. */
  readonly waiters: ((isTaken: boolean) => void)[];
}

export class OrderWriter {
  readonly #options: OrderWriterOptions;
  readonly #waiting = new Map<string, Waiting>();
  /** Names that a writer has taken, so that one key is written by one at a time. */
  readonly #busy = new Set<string>();
  /** By name, as last seen: a guess, which the transaction checks. */
  readonly #present = new Map<string, Present>();
  readonly #pauses = Array.from({ length: WRITERS }, () => null as Pause | null);
  #isClosed = false;

  constructor(options: OrderWriterOptions) {
    this.#options = options;
  }

  /** Orders that are not in etcd yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves as OrderExchange.publish(). */
  write(record: SharedRecord): Promise<boolean> {
    const name = orderName(record);
    const waiting = this.#waiting.get(name);
    const hasRoom = waiting !== undefined || this.#waiting.size < WAITING_ORDERS_MAX;
    if (this.#isClosed || !hasRoom || Buffer.byteLength(orderText(record, this.#options.own)) > ORDER_BYTES_MAX) {
      this.#options.observer.leftOut(record);
      return Promise.resolve(false);
    }
    if (waiting !== undefined && isNewer(record.stamp, waiting.record.stamp)) waiting.record = record;
    const entry = waiting ?? { record, waiters: [] };
    this.#waiting.set(name, entry);
    const outcome = new Promise<boolean>((resolve) => entry.waiters.push(resolve));
    this.#wake();
    return outcome;
  }

  /** Takes the result of a list or a watch. */
  saw(name: string, present: Present): void {
    const known = this.#present.get(name);
    if (known === undefined || known.revision <= present.revision) this.#present.set(name, present);
  }

  sawRemoved(name: string): void {
    this.#present.delete(name);
  }

  /** All is to be read again. */
  forget(): void {
    this.#present.clear();
  }

  stampOf(name: string): Stamp | null {
    return this.#present.get(name)?.stamp ?? null;
  }

  /** etcd answers again: what waits for its next attempt is tried now. */
  retry(): void {
    for (const pause of this.#pauses) pause?.end();
  }

  close(): void {
    this.#isClosed = true;
    this.retry();
    for (const { waiters } of this.#waiting.values()) for (const resolve of waiters.splice(0)) resolve(false);
  }

  #wake(): void {
    const free = this.#pauses.indexOf(null);
    if (free < 0) return;
    const pause = new Pause(this.#options.timers);
    this.#pauses[free] = pause;
    void this.#run(pause).finally(() => {
      this.#pauses[free] = null;
    });
  }

  /** One writer: ends when nothing waits that no other writer has. */
  async #run(pause: Pause): Promise<void> {
    const backoff = new Backoff(RETRY);
    for (let name = this.#next(); name !== undefined; name = this.#next()) {
      this.#busy.add(name);
      const isGood = await this.#settle(name).finally(() => this.#busy.delete(name));
      if (isGood) backoff.reset();
      else await pause.wait(backoff.next());
    }
  }

  #next(): string | undefined {
    if (this.#isClosed) return undefined;
    for (const name of this.#waiting.keys()) if (!this.#busy.has(name)) return name;
    return undefined;
  }

  async #settle(name: string): Promise<boolean> {
    const entry = this.#waiting.get(name);
    if (entry === undefined) return true;
    const { record } = entry;
    // A caller who waits from here on waits for a record that may be newer.
    const waiters = entry.waiters.splice(0);
    const isTaken = await this.#put(name, record).catch((cause: unknown) => {
      if (!(cause instanceof EtcdFault)) throw cause;
      this.#options.observer.failed(cause);
      return false;
    });
    if (isTaken && entry.record === record) {
      this.#waiting.delete(name);
      waiters.push(...entry.waiters.splice(0));
    }
    for (const resolve of waiters) resolve(isTaken);
    if (!isTaken) this.#toEnd(name, entry);
    return isTaken;
  }

  /** One order that etcd refuses does not hold up the others. */
  #toEnd(name: string, entry: Waiting): void {
    this.#waiting.delete(name);
    this.#waiting.set(name, entry);
  }

  /** Resolves with true: it, or a newer one, is there. Rejects with an EtcdFault. */
  async #put(name: string, record: SharedRecord): Promise<boolean> {
    const { calls, own, prefix, observer } = this.#options;
    const key = prefix + name;
    for (;;) {
      const known = this.#present.get(name);
      const isOlder = known?.stamp != null && compareStamps(known.stamp, record.stamp) > 0;
      // Over a newer one, if that is still there, the transaction must fail: only a key that is lost is written.
      const revision = isOlder ? 0 : (known?.revision ?? 0);
      const { isDone, header, found } = await calls.txn({
        compare: [{ key, target: "MOD", revision }],
        success: [{ kind: "put", key, value: orderText(record, own) }],
        failure: [{ kind: "range", key }],
      });
      if (isDone) {
        this.saw(name, { revision: header.revision, stamp: record.stamp });
        observer.written();
        return true;
      }
      const there = found[0] ?? null;
      const order = there === null ? null : orderIn(name, there.value);
      // Not by saw(): after a loss of data revisions are lower than those that are known.
      this.#present.set(name, { revision: there?.modRevision ?? 0, stamp: order?.shared.stamp ?? null });
      const age = order === null ? -1 : compareStamps(order.shared.stamp, record.stamp);
      if (order === null || age < 0) continue;
      if (age > 0) {
        observer.superseded();
        this.#options.onNewer(order);
      }
      return true;
    }
  }
}
