/**
 * Keeps the stamp of each order that brains share, and decides which of two is in force: the newest of a key (last writer
 * wins). Hands callers' orders to the exchanges, and takes those of other brains. An end is kept as long as an order of
 * its table can last. What changes by itself, as an order whose time is over, gets no stamp: each brain does it alone.
 */
import type { SharedBegin, TableSharing } from "../system/record-table.ts";
import { ClockWaits } from "./clock-waits.ts";
import { type Adopting, isBetter, OrderAdoption } from "./order-adoption.ts";
import { OrderDigest } from "./order-digest.ts";
import {
  type OrderExchange,
  SHARED_TABLES,
  type SharedRecord,
  type SharedTable,
  type TakeOutcome,
} from "./order-exchange.ts";
import type { OrderTable, OrderTables } from "./order-table.ts";
import { recordFault } from "./record-check.ts";
import type { OrderRegisterOptions, RefusalCause } from "./register-options.ts";
import { isNewer, isTooFarAhead, type Stamp, StampClock } from "./stamp.ts";
import { endedByOf, hasOwnTimes, type StampedOrder, stampedName } from "./stamped-order.ts";
import { oldestFirst, type StampedCounts, StampedOrders } from "./stamped-orders.ts";

/** Records of another brain in a group: between two groups all else has its turn. */
const TAKEN_AT_ONCE = 256;
/** Orders that are looked through in one tick, and those that wait of which each is tried. */
const SWEPT_MAX = 4096;
const RETRIED_MAX = 64;
/** Until then brains in reach have measured a clock that was set. */
const MEASURED_TICKS = 3;

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
  readonly #adoption: OrderAdoption;
  readonly #clockWaits = new ClockWaits();
  #tables: OrderTables | null = null;
  #isStopped = false;
  #isAdopting = false;
  /** Ticks until own orders are published again; null: they have the times that were published. */
  #republishIn: number | null = null;

  constructor(options: OrderRegisterOptions) {
    this.#options = options;
    this.#clock = new StampClock(options.own);
    const { own, clockOf, observer } = options;
    this.#adoption = new OrderAdoption({
      ...{ own, clockOf, tableOf: (table) => this.#of(table), waits: observer.waits },
      hasRoom: (order) => this.#orders.hasRoom(order),
    });
  }

  /** The owners of the tables exist only after the tables do. */
  bind(tables: OrderTables): void {
    this.#tables = tables;
  }

  /** Each order goes to all of them; the last one that decides says whether it is shared. */
  join(exchange: OrderExchange, { decides }: { readonly decides: boolean }): void {
    this.#exchanges.push(exchange);
    if (decides) this.#deciding = exchange;
    exchange.onRecords((records, from) => this.take(records, from));
  }

  /** The calls of the owner of a table for the orders of callers. */
  sharing<R>(table: SharedTable): TableSharing<R> {
    return {
      begins: (_, record) => this.#begin(table, record),
      ends: (_, record) => this.#end(table, record),
    };
  }

  /** Once the owners have restored their orders. An order without a stamp was there before the cluster. */
  restore(stored: Iterable<StampedOrder>): void {
    this.load(stored);
    const wallMs = this.#options.wallMs();
    for (const table of SHARED_TABLES) this.#stampUnstamped(table, wallMs);
    this.#restamp(wallMs);
  }

  /** The stamps alone: who took an order must be known as the owners restore theirs, some of which are over. */
  load(stored: Iterable<StampedOrder>): void {
    const wallMs = this.#options.wallMs();
    for (const order of oldestFirst(stored)) {
      this.#set(order);
      if (!isTooFarAhead(order.stamp, wallMs)) this.#clock.see(order.stamp);
    }
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

  /** Equal at brains that have the same orders; what is not on disk yet counts as missing. */
  digest(): OrderDigest {
    const digest = new OrderDigest();
    for (const order of this.#orders.all()) if (!this.#unsaved.has(stampedName(order))) digest.add(order);
    return digest;
  }

  get(table: SharedTable, key: string): SharedRecord | null {
    const order = this.#orders.get(stampedName({ table, key }));
    return order === null ? null : this.#recordOf(order);
  }

  /** The stamp of the newest order of the key, with the brain whose caller gave it; null: it has none. */
  stampOf(table: SharedTable, key: string): Stamp | null {
    return this.#orders.get(stampedName({ table, key }))?.stamp ?? null;
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
  async take(records: readonly SharedRecord[], from: string): Promise<readonly TakeOutcome[]> {
    const outcomes: TakeOutcome[] = [];
    this.#options.wallMs(); // A step before was corrected.
    const { steppedMs } = this.#adoption;
    for (let first = 0; first < records.length; first += TAKEN_AT_ONCE)
      outcomes.push(...(await this.#takeSome(records.slice(first, first + TAKEN_AT_ONCE), from, steppedMs)));
    return outcomes;
  }

  async #takeSome(records: readonly SharedRecord[], from: string, steppedMs: number): Promise<TakeOutcome[]> {
    if (this.#isStopped) return records.map(() => "unsaved");
    const taken = records.map((record) => this.#take(record, from, steppedMs));
    const orders = taken.filter((order) => typeof order === "object");
    const named = orders.map((order) => [stampedName(order), order] as const);
    const rows = named.filter(([name, order]) => this.#orders.get(name) === order);
    const isSaved = rows.length === 0 || (await this.#options.store.saveAll(rows));
    if (isSaved) for (const [name, order] of rows) if (this.#orders.get(name) === order) this.#unsaved.delete(name);
    return taken.map((each) => (typeof each === "string" ? each : isSaved ? "taken" : "unsaved"));
  }

  /** The record on a clock that is `byMs` ahead of the one that it is of. */
  shifted(shared: SharedRecord, byMs: number): SharedRecord {
    return this.#adoption.shifted(shared, byMs);
  }

  /** Call this every second: what waits may find room, what is over is noticed, old ends go. */
  tick(): void {
    const wallMs = this.#options.wallMs();
    if (isTooFarAhead({ ms: this.#clock.lastMs, brain: "" }, wallMs)) this.#restamp(wallMs);
    if (this.#republishIn !== null && --this.#republishIn === 0) {
      this.#republishIn = null;
      this.#republish();
    }
    for (const { name, isOver } of this.#clockWaits.tick(SWEPT_MAX)) this.#resolve(name, isOver, wallMs);
    for (const order of this.#orders.nextWaiting(RETRIED_MAX)) this.#readopt(order, this.#recordOf(order), { wallMs });
    for (const order of this.#orders.next(SWEPT_MAX)) this.#sweep(order, wallMs);
    for (const table of SHARED_TABLES) this.#boundEnds(table);
  }

  /** The wall clock was set by so much, and orders in force have moved with it: call this in the same turn. */
  clockStepped(byMs: number): void {
    this.#adoption.steppedMs += byMs;
    for (const order of [...this.#orders.all()]) {
      if (order.clock !== undefined || order.state === "in_force") continue;
      const record = order.state === "waiting" ? this.shifted(this.#recordOf(order), byMs).record : null;
      this.#keep({ ...order, record, atMs: order.atMs + byMs });
    }
    for (const exchange of this.#exchanges) exchange.clockStepped?.();
    if (this.#exchanges.some(({ keepsTimes }) => keepsTimes === true)) this.#republishIn = MEASURED_TICKS;
  }

  /** Records in etcd have times of the clock before. A millisecond newer is the same order: it replaces no other. */
  #republish(): void {
    for (const order of [...this.#orders.all()]) {
      if (order.clock !== undefined || !hasOwnTimes(order, this.#options.own)) continue;
      const { ms, brain } = order.stamp;
      const again = { ...order, stamp: { ms: ms + 1, brain } };
      this.#clock.see(again.stamp);
      this.#keep(again);
      this.#publish(again);
    }
  }

  #of(table: SharedTable): OrderTable {
    if (this.#tables === null) throw new Error("bug: the tables of the register are not bound");
    return this.#tables[table];
  }

  #recordOf({ table, key, stamp, state, record, endedBy, atMs, clock }: StampedOrder): SharedRecord {
    const present = state === "in_force" && clock === undefined ? this.#of(table).present(key) : record;
    return {
      ...{ table, key, stamp, record: present ?? null },
      ...(endedBy && { endedBy, endedAtMs: Math.max(0, Math.round(atMs)) }),
      ...(clock !== undefined && { clock }),
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
    const [stamp, before] = [this.#clock.next(wallMs), this.#orders.get(name)];
    const order: StampedOrder = { table, key, stamp, state: "in_force", record: null, atMs: wallMs };
    this.#begins.set(name, stamp);
    this.#options.store.queue(name, order);
    const isLast = () => this.#begins.get(name) === stamp && this.#begins.delete(name);
    return {
      inForce: () => {
        isLast();
        // If an order of another brain arrived meanwhile, this one took effect after it, and lies below it on disk.
        const known = this.#orders.get(name);
        const begun = isNewer(stamp, known?.stamp ?? null) ? order : { ...order, stamp: this.#clock.next(wallMs) };
        if (known === before) this.#set(begun);
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
    this.#unsaved.delete(name);
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
    this.#set(order);
    this.#options.store.queue(stampedName(order), order);
  }

  /** The effect of a record; an order: it is to be on disk before the outcome is known. */
  #take(shared: SharedRecord, from: string, steppedMs: number): StampedOrder | "taken" | "refused" {
    const [name, wallMs] = [stampedName(shared), this.#options.wallMs()];
    try {
      const fault = recordFault(shared, this.#of(shared.table));
      if (fault !== null) return this.#refused("invalid", fault);
      if (isTooFarAhead(shared.stamp, wallMs)) return this.#refused("ahead", `an order of ${shared.stamp.brain}`);
      const known = this.#orders.get(name);
      const corrected = this.#adoption.corrected(shared, steppedMs);
      if (known !== null && !isNewer(shared.stamp, known.stamp) && !isBetter(corrected, known)) {
        return this.#unsaved.has(name) ? known : "taken";
      }
      const adopted = this.#adopting(() => this.#adoption.adopt(corrected, { known, wallMs, from }));
      if (adopted === null) return this.#refused("full", `${this.#orders.counts.waiting} orders wait already`);
      this.#clock.see(shared.stamp);
      this.#set(adopted);
      this.#unsaved.add(name);
      this.#boundEnds(adopted.table);
      return adopted;
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

  #refused(cause: RefusalCause, detail: string): "refused" {
    this.#options.observer.refused(cause, detail);
    return "refused";
  }

  #set(order: StampedOrder): void {
    this.#orders.set(order);
    this.#clockWaits.note(order);
  }

  /** Its clock is known now, or was waited for long enough. */
  #resolve(name: string, isClockAssumed: boolean, wallMs: number): void {
    const order = this.#orders.get(name);
    if (order === null) return;
    const raw = this.#recordOf(order);
    const shared = this.#adoption.corrected(raw);
    if (shared !== raw || isClockAssumed) this.#readopt(order, shared, { wallMs, isClockAssumed });
  }

  /** The order is kept already: in another state, or with other times. */
  #readopt(order: StampedOrder, shared: SharedRecord, at: Pick<Adopting, "wallMs" | "isClockAssumed">): void {
    try {
      const again = { known: order, from: order.from, ...at };
      const adopted = this.#adopting(() => this.#adoption.adopt(shared, again));
      const isWaiting = adopted?.state === "waiting" && order.state === "waiting";
      if (adopted !== null && !(isWaiting && adopted.clock === order.clock)) this.#keep(adopted);
    } catch (cause) {
      this.#refused("failed", `${stampedName(order)}: ${String(cause)}`);
    }
  }

  #boundEnds(table: SharedTable): void {
    let count = 0;
    const { endedMax } = this.#of(table);
    for (let end = this.#orders.endBeyond(table, endedMax); end !== null; count++) {
      this.#forget(end);
      end = this.#orders.endBeyond(table, endedMax);
    }
    if (count > 0) this.#options.observer.endsDropped(table, count);
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
    this.#clockWaits.forget(name);
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
