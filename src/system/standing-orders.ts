/**
 * A table of standing orders: what callers set until its time is over, or until it is removed. Source blocks, filter rules,
 * chosen protections and levers share this one life: an order is decided and on disk before it takes effect; it is
 * restored after a restart; its end, by time, by a caller or by a reload, takes effect at once, whatever the disk does.
 * Times are wall clock, ms.
 */
import { endOf } from "./expiry.ts";
import type { RecordTable } from "./record-table.ts";
import { carryOut, type Decision, type OrderOutcome } from "./stored-order.ts";

/** How orders of a kind end by themselves; null: only callers and reloads end them. */
export interface OrderTimes<R> {
  readonly endsAt: (order: R) => number;
  readonly endingAt: (order: R, endsAt: number) => R;
  /** The longest time that one may last: after the clock was set back, none lasts longer from then on. */
  readonly longestMs: (order: R) => number;
  /** Whether its times were given as times of the clock, and stay when the clock is set. Absent: none does. */
  readonly staysAtWallTime?: (order: R) => boolean;
}

/** The index that the owner keeps of the orders in force beside the table. */
export interface OrderIndex<R> {
  put(order: R, before: R | null): void;
  remove(order: R): void;
}

/** The caller by whose command an order begins or ends. */
export interface Commander {
  readonly operator: string;
  /** null: an administrator. */
  readonly tenant: string | null;
  /** Why it ends; empty: it begins, or it is not said. */
  readonly reason: string;
}

export interface OrderObserver<R, Refusal, End> {
  /**
   * In force; on disk, or queued where the tables changed while it was written. @param before the order that it replaces;
   * null: none. @param by absent: the order says it, or it is of another brain.
   */
  began(order: R, before: R | null, by?: Commander): void;
  refused(refusal: Refusal): void;
  /** @param by absent: no caller ended them, or one at another brain. */
  ended(end: End, orders: readonly R[], by?: Commander): void;
}

interface StandingOrdersOptions<R, Refusal, End> {
  readonly store: RecordTable<R>;
  readonly keyOf: (order: R) => string;
  readonly times: OrderTimes<R> | null;
  readonly observer: OrderObserver<R, Refusal, End>;
  readonly index?: OrderIndex<R>;
}

/** A command to place an order. */
interface Placing<R, Refusal> {
  /** Called again after the write, since the tables may have changed meanwhile. */
  readonly decide: () => Decision<R, Refusal>;
  /** The effect of the order, which is in the table by then. It may end the order again, and reject. */
  readonly takeEffect: (order: R) => void | Promise<void>;
  /** Where the order itself does not say whose it is. */
  readonly by?: Commander;
}

export class StandingOrders<R, Refusal, End> {
  readonly #options: StandingOrdersOptions<R, Refusal, End>;
  readonly #orders = new Map<string, R>();
  /** No order ends before. */
  #nextEnd = Number.POSITIVE_INFINITY;

  constructor(options: StandingOrdersOptions<R, Refusal, End>) {
    this.#options = options;
  }

  /** In the order in which they were placed. */
  get all(): ReadonlyMap<string, R> {
    return this.#orders;
  }

  get(key: string): R | null {
    return this.#orders.get(key) ?? null;
  }

  /** Changes that are not on disk yet. */
  get unsaved(): number {
    return this.#options.store.unsaved;
  }

  /** Orders of an earlier process; some may be over. */
  restore(orders: Iterable<R>): void {
    for (const order of orders) this.#put(order);
  }

  /** Rejects with the error of the store, and then nothing has changed, or with that of `takeEffect`. */
  async place<Own extends Refusal>({ decide, takeEffect, by }: Placing<R, Own>): Promise<OrderOutcome<R, Own>> {
    const { store, observer } = this.#options;
    const outcome = await carryOut<R, Own>({
      table: store,
      decide,
      present: (key) => this.get(key),
      takeEffect: async (order) => {
        const before = this.get(this.#options.keyOf(order));
        this.#put(order);
        await takeEffect(order);
        observer.began(order, before, by);
      },
    });
    if (outcome.kind === "refused") observer.refused(outcome.refusal);
    return outcome;
  }

  /** An order of another brain, in place of the one of its key; its owner has checked that there is room. */
  adopt(order: R): void {
    const before = this.get(this.#options.keyOf(order));
    this.#change(order);
    this.#options.observer.began(order, before);
  }

  /** Ends orders that are in force. */
  end(end: End, orders: readonly R[]): void {
    if (orders.length === 0) return;
    for (const order of orders) {
      this.#remove(order);
      this.#options.store.queue(this.#options.keyOf(order), null);
    }
    this.#options.observer.ended(end, orders);
  }

  /** The same for a caller who waits, and by whose command they end: resolves with whether all of it is on disk. */
  endSaved(end: End, orders: readonly R[], by?: Commander): Promise<boolean> {
    const { store, keyOf } = this.#options;
    for (const order of orders) store.sharing?.ends(keyOf(order), order);
    return this.endHere(end, orders, by);
  }

  /** The same, when they end at this brain alone: what failed here may hold elsewhere. */
  async endHere(end: End, orders: readonly R[], by?: Commander): Promise<boolean> {
    for (const order of orders) this.#remove(order);
    const saved = orders.map((order) => this.#options.store.save(this.#options.keyOf(order), null));
    this.#options.observer.ended(end, orders, by);
    return (await Promise.all(saved)).every((isSaved) => isSaved);
  }

  /** Ends the orders whose time is over, and returns them. */
  expire(end: End, nowMs: number): readonly R[] {
    const { times } = this.#options;
    if (times === null || nowMs < this.#nextEnd) return [];
    const over = [...this.#orders.values()].filter((order) => times.endsAt(order) <= nowMs);
    this.end(end, over);
    this.#lookForNextEnd(times);
    return over;
  }

  /** After the clock was set back, maybe while no process ran: no order lasts longer than one may from now on. */
  shorten(nowMs: number): void {
    const { times } = this.#options;
    if (times === null) return;
    for (const order of [...this.#orders.values()]) {
      const endsAt = endOf(times.endsAt(order), times.longestMs(order), nowMs);
      if (endsAt !== null && endsAt !== times.endsAt(order)) this.#change(times.endingAt(order, endsAt));
    }
  }

  /** The wall clock was set by `byMs`: the time that is left does not change. Returns the orders that moved with it. */
  shift(byMs: number): readonly R[] {
    const { times } = this.#options;
    if (times === null) return [];
    const moving = [...this.#orders.values()].filter((order) => times.staysAtWallTime?.(order) !== true);
    const shifted = moving.map((order) => times.endingAt(order, times.endsAt(order) + byMs));
    for (const order of shifted) this.#change(order);
    this.#lookForNextEnd(times);
    return shifted;
  }

  #lookForNextEnd({ endsAt }: OrderTimes<R>): void {
    const ends = [...this.#orders.values()].map(endsAt);
    this.#nextEnd = ends.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY);
  }

  #change(order: R): void {
    this.#put(order);
    this.#options.store.queue(this.#options.keyOf(order), order);
  }

  #put(order: R): void {
    const { keyOf, times, index } = this.#options;
    const key = keyOf(order);
    index?.put(order, this.get(key));
    this.#orders.set(key, order);
    if (times !== null) this.#nextEnd = Math.min(this.#nextEnd, times.endsAt(order));
  }

  #remove(order: R): void {
    this.#orders.delete(this.#options.keyOf(order));
    this.#options.index?.remove(order);
  }
}
