/**
 * Keeps the stamp of each order that brains share, and decides which of two is in force: the newest of a key (last writer
 * wins). Hands callers' orders to the exchanges, and takes those of other brains. An end is kept as long as an order of
 * its table can last. What changes by itself, as an order whose time is over, gets no stamp: each brain does it alone.
 */
import type { RecordTable, SharedBegin, TableSharing } from "../system/record-table.ts";
import {
  type EndedBy,
  type OrderExchange,
  SHARED_TABLES,
  type SharedRecord,
  type SharedTable,
  type TakeOutcome,
} from "./order-exchange.ts";
import type { OrderTable } from "./order-table.ts";
import { recordFault } from "./record-check.ts";
import { isNewer, isTooFarAhead, type Stamp, StampClock } from "./stamp.ts";
import { type StampedOrder, stampedName } from "./stamped-order.ts";
import { type StampedCounts, StampedOrders } from "./stamped-orders.ts";

/** Of what another brain sends: callers who wait for the disk keep most of its places (STATE_ORDERS_MAX). */
const SAVED_AT_ONCE = 64;
/** Orders of other brains that wait for room here. */
export const WAITING_MAX = 4096;
/** Orders that are looked through in one tick. */
const SWEPT_MAX = 4096;

export type RefusalCause = "invalid" | "ahead" | "full" | "failed";

export interface RegisterObserver {
  /** A record of another brain is not taken. */
  readonly refused: (cause: RefusalCause, detail: string) => void;
  /** It is kept, and not in force: `why`. */
  readonly waits: (order: StampedOrder, why: string) => void;
  /** Ends were dropped before their time, as there are too many. */
  readonly endsDropped: (table: SharedTable, count: number) => void;
}

export type OrderTables = Readonly<Record<SharedTable, OrderTable>>;

export interface OrderRegisterOptions {
  /** The name of this brain. */
  readonly own: string;
  readonly wallMs: () => number;
  /** By stampedName(). */
  readonly store: Pick<RecordTable<StampedOrder>, "queue" | "save">;
  readonly observer: RegisterObserver;
}

export class OrderRegister {
  readonly #options: OrderRegisterOptions;
  readonly #clock: StampClock;
  readonly #orders = new StampedOrders();
  /** Written, and not in force yet. */
  readonly #begins = new Map<string, Stamp>();
  /** Names of orders of other brains that are not on disk yet. */
  readonly #unsaved = new Set<string>();
  readonly #exchanges: OrderExchange[] = [];
  #deciding: OrderExchange | null = null;
  /** The newest publication of each name to the deciding exchange, until it is taken. */
  readonly #published = new Map<string, Promise<boolean>>();
  #tables: OrderTables | null = null;
  #isStopped = false;
  #isAdopting = false;

  constructor(options: OrderRegisterOptions) {
    this.#options = options;
    this.#clock = new StampClock(options.own);
  }

  /** The owners of the tables exist only after the tables do. */
  bind(tables: OrderTables): void {
    this.#tables = tables;
  }

  /** Each order goes to all of them; the last one that decides says whether it is shared. */
  join(exchange: OrderExchange, { decides }: { readonly decides: boolean }): void {
    this.#exchanges.push(exchange);
    if (decides) this.#deciding = exchange;
    exchange.onRecords((records) => this.take(records));
  }

  /** What the owner of a table calls for the orders of callers. */
  sharing<R>(table: SharedTable): TableSharing<R> {
    return {
      begins: (_, record) => this.#begin(table, record),
      ends: (_, record) => this.#end(table, record),
    };
  }

  /** Once the owners have restored their orders. An order without a stamp was there before the cluster. */
  restore(stored: Iterable<StampedOrder>): void {
    const wallMs = this.#options.wallMs();
    for (const order of stored) {
      if (!SHARED_TABLES.includes(order.table)) continue;
      this.#orders.set(order);
      if (!isTooFarAhead(order.stamp, wallMs)) this.#clock.see(order.stamp);
    }
    for (const table of SHARED_TABLES) this.#stampUnstamped(table, wallMs);
    this.#restamp(wallMs);
  }

  /** Nothing is taken any more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** An order of another brain takes effect in this turn: who is notified of orders was so by that brain. */
  get isAdopting(): boolean {
    return this.#isAdopting;
  }

  /** All that a brain must have, ends included. */
  *records(): Generator<SharedRecord> {
    for (const order of this.#orders.all()) yield this.#recordOf(order);
  }

  get(table: SharedTable, key: string): SharedRecord | null {
    const order = this.#orders.get(stampedName({ table, key }));
    return order === null ? null : this.#recordOf(order);
  }

  /** How long the end of an order of the table is kept, ms. */
  lifeMs(table: SharedTable): number {
    return this.#of(table).lifeMs;
  }

  /** Whether the newest order of the key has reached the other brains, as the deciding exchange says. */
  isShared(table: SharedTable, key: string): Promise<boolean> {
    return this.#published.get(stampedName({ table, key })) ?? Promise.resolve(true);
  }

  /** The brains that have not confirmed it. */
  unconfirmedBy(table: SharedTable, key: string): string[] {
    return [...new Set(this.#exchanges.flatMap((exchange) => exchange.unconfirmedBy?.(table, key) ?? []))];
  }

  get counts(): StampedCounts {
    return this.#orders.counts;
  }

  /** Those that are kept and not in force. */
  waiting(): StampedOrder[] {
    return this.#orders.waiting();
  }

  /** Takes records of other brains. Resolves when what it took is on disk, or the disk has not taken it in time. */
  async take(records: readonly SharedRecord[]): Promise<readonly TakeOutcome[]> {
    const outcomes: TakeOutcome[] = [];
    for (let from = 0; from < records.length; from += SAVED_AT_ONCE) {
      const some = records.slice(from, from + SAVED_AT_ONCE);
      outcomes.push(...(await Promise.all(some.map((record) => this.#take(record)))));
    }
    return outcomes;
  }

  /** The record on a clock that is `byMs` ahead of the one that it is of. */
  shifted(shared: SharedRecord, byMs: number): SharedRecord {
    const table = this.#of(shared.table);
    if (shared.endedAtMs !== undefined) return { ...shared, endedAtMs: Math.max(0, shared.endedAtMs + byMs) };
    const record = shared.record === null ? null : table.parse(shared.record, shared.key);
    return record === null ? shared : { ...shared, record: table.shifted(record, byMs) };
  }

  /** Call this every second: what waits may find room, what is over is noticed, old ends go. */
  tick(): void {
    const wallMs = this.#options.wallMs();
    if (isTooFarAhead({ ms: this.#clock.lastMs, brain: "" }, wallMs)) this.#restamp(wallMs);
    for (const order of this.#orders.waiting()) this.#retry(order, wallMs);
    for (const order of this.#orders.next(SWEPT_MAX)) this.#sweep(order, wallMs);
    for (const table of SHARED_TABLES) {
      const oldest = this.#orders.endsBeyond(table, this.#of(table).endedMax);
      for (const order of oldest) this.#forget(order);
      if (oldest.length > 0) this.#options.observer.endsDropped(table, oldest.length);
    }
  }

  #of(table: SharedTable): OrderTable {
    if (this.#tables === null) throw new Error("bug: the tables of the register are not bound");
    return this.#tables[table];
  }

  #recordOf({ table, key, stamp, state, record, endedBy, atMs }: StampedOrder): SharedRecord {
    const present = state === "in_force" ? this.#of(table).present(key) : record;
    return {
      table,
      key,
      stamp,
      record: present ?? null,
      ...(endedBy && { endedBy, endedAtMs: Math.max(0, Math.round(atMs)) }),
    };
  }

  #stampUnstamped(table: SharedTable, wallMs: number): void {
    for (const record of this.#of(table).all()) {
      const key = this.#of(table).keyOf(record);
      const known = this.#orders.get(stampedName({ table, key }));
      if (known?.state === "in_force") continue;
      const ms = Math.floor(Math.min(wallMs, this.#of(table).beganAt(record)));
      const stamp = known === null ? { ms, brain: this.#options.own } : this.#clock.next(wallMs);
      this.#keep({ table, key, stamp, state: "in_force", record: null, atMs: wallMs });
    }
  }

  #begin(table: SharedTable, record: unknown): SharedBegin {
    const wallMs = this.#options.wallMs();
    const key = this.#of(table).keyOf(record);
    const name = stampedName({ table, key });
    const stamp = this.#clock.next(wallMs);
    const order: StampedOrder = { table, key, stamp, state: "in_force", record: null, atMs: wallMs };
    this.#begins.set(name, stamp);
    this.#options.store.queue(name, order);
    const isLast = () => this.#begins.get(name) === stamp && this.#begins.delete(name);
    return {
      inForce: () => {
        isLast();
        // If an order of another brain arrived meanwhile, this one took effect after it.
        const isNewest = isNewer(stamp, this.#orders.get(name)?.stamp ?? null);
        const begun = isNewest ? order : { ...order, stamp: this.#clock.next(wallMs) };
        if (isNewest) this.#orders.set(begun);
        else this.#keep(begun);
        this.#publish(begun);
      },
      dropped: () => {
        if (isLast()) this.#options.store.queue(name, this.#orders.get(name));
      },
    };
  }

  #end(table: SharedTable, record: unknown): void {
    const wallMs = this.#options.wallMs();
    const key = this.#of(table).keyOf(record);
    const stamp = this.#clock.next(wallMs);
    const end = { table, key, stamp, state: "ended", record: null, endedBy: endedByOf(record), atMs: wallMs } as const;
    this.#keep(end);
    this.#publish(end);
  }

  #publish(order: StampedOrder): void {
    const [name, record] = [stampedName(order), this.#recordOf(order)];
    for (const exchange of this.#exchanges) {
      const published = exchange.publish(record);
      if (exchange !== this.#deciding) continue;
      this.#published.set(name, published);
      void published.then((isTaken) => {
        if (isTaken && this.#published.get(name) === published) this.#published.delete(name);
      });
    }
  }

  /** As the newest order of its key, also on disk: soon, together with the changes of its table. */
  #keep(order: StampedOrder): void {
    this.#orders.set(order);
    this.#options.store.queue(stampedName(order), order);
  }

  async #take(shared: SharedRecord): Promise<TakeOutcome> {
    if (this.#isStopped) return "unsaved";
    const wallMs = this.#options.wallMs();
    const table = this.#of(shared.table);
    const fault = recordFault(shared, table);
    if (fault !== null) return this.#refused("invalid", fault);
    if (isTooFarAhead(shared.stamp, wallMs)) return this.#refused("ahead", `an order of ${shared.stamp.brain}`);
    const name = stampedName(shared);
    const known = this.#orders.get(name);
    if (known !== null && !isNewer(shared.stamp, known.stamp)) {
      return this.#unsaved.has(name) ? this.#saved(known) : "taken";
    }
    try {
      const adopted = this.#adopting(() => this.#adopted(shared, known, wallMs));
      if (adopted === null) return this.#refused("full", `${this.#orders.counts.waiting} orders wait already`);
      this.#clock.see(shared.stamp);
      this.#orders.set(adopted);
      return await this.#saved(adopted);
    } catch (cause) {
      return this.#refused("failed", `${name}: ${String(cause)}`);
    }
  }

  #adopting<T>(effect: () => T): T {
    this.#isAdopting = true;
    try {
      return effect();
    } finally {
      this.#isAdopting = false;
    }
  }

  #refused(cause: RefusalCause, detail: string): TakeOutcome {
    this.#options.observer.refused(cause, detail);
    return "refused";
  }

  async #saved(order: StampedOrder): Promise<TakeOutcome> {
    const name = stampedName(order);
    this.#unsaved.add(name);
    if (!(await this.#options.store.save(name, order))) return "unsaved";
    if (this.#orders.get(name) === order) this.#unsaved.delete(name);
    return "taken";
  }

  /** What is kept of a record, once it has its effect; null: no more can wait. @param known an older order of its key */
  #adopted(shared: SharedRecord, known: StampedOrder | null, wallMs: number): StampedOrder | null {
    const { key, stamp, endedBy = null, endedAtMs = stamp.ms } = shared;
    const table = this.#of(shared.table);
    const order = { table: shared.table, key, stamp, record: null, atMs: wallMs };
    const endOlder = () => {
      if (known?.state === "in_force") table.end({ key, endedBy: null, endedAtMs: wallMs }, wallMs);
    };
    if (endedBy !== null) {
      const atMs = Math.min(endedAtMs, wallMs);
      table.end({ key, endedBy, endedAtMs: atMs }, wallMs);
      return { ...order, state: "ended", endedBy, atMs };
    }
    const record = shared.record === null ? null : table.parse(shared.record, key);
    if (record === null || isOver(record, table, wallMs)) {
      endOlder();
      return { ...order, state: "ended" };
    }
    const why = table.adopt(record, wallMs);
    if (why === null) return { ...order, state: "in_force" };
    if (known?.state !== "waiting" && this.#orders.counts.waiting >= WAITING_MAX) return null;
    endOlder();
    const waits: StampedOrder = { ...order, state: "waiting", record };
    this.#options.observer.waits(waits, why);
    return waits;
  }

  #retry(order: StampedOrder, wallMs: number): void {
    const table = this.#of(order.table);
    const settled = { ...order, record: null, atMs: wallMs };
    if (isOver(order.record, table, wallMs)) this.#keep({ ...settled, state: "ended" });
    else if (this.#adopting(() => table.adopt(order.record, wallMs)) === null)
      this.#keep({ ...settled, state: "in_force" });
  }

  #sweep(order: StampedOrder, wallMs: number): void {
    const table = this.#of(order.table);
    if (order.state === "ended" && wallMs - order.atMs > table.lifeMs) this.#forget(order);
    const isGone = order.state === "in_force" && table.present(order.key) === null;
    if (isGone && !this.#begins.has(stampedName(order))) this.#keep({ ...order, state: "ended", atMs: wallMs });
  }

  #forget(order: StampedOrder): void {
    const name = stampedName(order);
    this.#orders.delete(order);
    this.#unsaved.delete(name);
    this.#published.delete(name);
    this.#options.store.queue(name, null);
  }

  /** The wall clock was far ahead, and is right again: all other brains would refuse stamps from then. */
  #restamp(wallMs: number): void {
    const [ahead, right] = [[] as StampedOrder[], [] as StampedOrder[]];
    for (const order of this.#orders.all()) (isTooFarAhead(order.stamp, wallMs) ? ahead : right).push(order);
    if (!isTooFarAhead({ ms: this.#clock.lastMs, brain: "" }, wallMs) && ahead.length === 0) return;
    this.#clock.reset();
    for (const { stamp } of right) this.#clock.see(stamp);
    for (const order of ahead) {
      const restamped = { ...order, stamp: this.#clock.next(wallMs) };
      this.#keep(restamped);
      this.#publish(restamped);
    }
  }
}

function isOver(record: unknown, table: OrderTable, wallMs: number): boolean {
  const endsAt = table.endsAt(record);
  return endsAt !== null && endsAt <= wallMs;
}

/** Of a ban it is known who ended it. */
function endedByOf(record: unknown): EndedBy {
  const by = typeof record === "object" && record !== null && "endedBy" in record ? record.endedBy : null;
  return (by as EndedBy | null | undefined) ?? { operator: "", reason: "" };
}
