/**
 * Gathers changes of standing orders: those of one kind, of one owner, that come together are one notification, so that
 * programs that place thousands flood no target. What is gathered is on disk until it is notified.
 */
import type { Tenant } from "../access/fair-queue.ts";
import type { GatheredOrders } from "../storage/notification-records.ts";
import { forgettingTable, type RecordTable } from "../system/record-table.ts";
import type { Cancel, Timers } from "../system/timers.ts";

export type OrderType = "source_block" | "filter_rule" | "protection" | "lever" | "ban" | "maintenance";
export type OrderTurn = "made" | "changed" | "ended";

/** One order that was made, changed or ended. */
export interface OrderChange {
  readonly turn: OrderTurn;
  readonly type: OrderType;
  /** As the audit trail names it. */
  readonly target: string;
  /** Empty: not known, or not said. */
  readonly operator: string;
  readonly reason: string;
  /** The tenant of the operator; null: an administrator, or not known. */
  readonly by: Tenant;
  /** `operator`, `by` and `reason` are those of the order; false: of the caller who ended it. */
  readonly isReasonOfOrder: boolean;
  /** Why it ended, as in `expired`; empty: it is in force. */
  readonly end: string;
  /** Wall clock, ms; null: it stays until it is removed. */
  readonly expiresAt: number | null;
  readonly tenant: Tenant;
  readonly group: string | null;
}

/** Changes of one kind and owner, by one person or program. */
export interface Orders {
  readonly type: OrderType;
  readonly count: number;
  /** The first ORDERS_NAMED. */
  readonly targets: readonly string[];
  readonly operator: string;
  /** The tenant of the operator; null: an administrator, or not known. */
  readonly by: Tenant;
  /** The reason of the first. */
  readonly reason: string;
  readonly isReasonOfOrder: boolean;
  readonly end: string;
  readonly expiresAt: number | null;
}

export const ORDERS_NAMED = 20;
/** From the first change to its notification, and from one notification to the next of the same kind and owner, ms. */
export const ORDER_GATHER_MS = 1_000;
export const ORDER_PAUSE_MS = 60_000;
/** Kinds and owners that are gathered at once; over it the oldest is notified at once. */
export const ORDER_KINDS_MAX = 512;

interface Gathered {
  /** null: nothing since the last notification. */
  orders: { readonly first: OrderChange; readonly targets: string[]; count: number } | null;
  cancel: Cancel;
}

export interface OrderNoticesOptions {
  readonly timers: Pick<Timers, "after">;
  /** Absent: in memory alone. `stored`: of an earlier process. */
  readonly gathered?: {
    readonly table: Pick<RecordTable<GatheredOrders>, "queue">;
    readonly stored: readonly GatheredOrders[];
  };
  readonly notify: (turn: OrderTurn, orders: Orders, owner: Pick<OrderChange, "tenant" | "group">) => void;
}

export class OrderNotices {
  readonly #options: OrderNoticesOptions;
  readonly #gathered = new Map<string, Gathered>();
  readonly #table: Pick<RecordTable<GatheredOrders>, "queue">;

  constructor(options: OrderNoticesOptions) {
    this.#options = options;
    this.#table = options.gathered?.table ?? forgettingTable();
  }

  /** Notifies what an earlier process had gathered. */
  restore(): void {
    for (const { id, first, targets, count } of this.#options.gathered?.stored ?? [])
      this.#notify(id, { first: first as OrderChange, targets: [...targets], count });
  }

  take(changes: readonly OrderChange[]): void {
    for (const change of changes) this.#take(change);
  }

  /** Notifies what is gathered. */
  stop(): void {
    for (const [key, gathered] of this.#gathered) this.#flush(key, gathered);
  }

  #take(change: OrderChange): void {
    const { turn, type, end, tenant, group, operator, by } = change;
    const key = JSON.stringify([turn, type, end, tenant, group, operator, by]);
    const known = this.#gathered.get(key);
    if (known === undefined) this.#begin(key, change);
    else if (known.orders === null) known.orders = { first: change, targets: [change.target], count: 1 };
    else {
      known.orders.count++;
      if (known.orders.targets.length < ORDERS_NAMED) known.orders.targets.push(change.target);
    }
    this.#keep(key);
  }

  #keep(id: string): void {
    const orders = this.#gathered.get(id)?.orders;
    if (orders) this.#table.queue(id, { id, ...orders, targets: [...orders.targets] });
  }

  #begin(key: string, change: OrderChange): void {
    const [oldest] = this.#gathered;
    if (this.#gathered.size >= ORDER_KINDS_MAX && oldest !== undefined) this.#flush(...oldest);
    const orders = { first: change, targets: [change.target], count: 1 };
    const cancel = this.#options.timers.after(ORDER_GATHER_MS, () => this.#due(key));
    this.#gathered.set(key, { orders, cancel });
  }

  #due(key: string): void {
    const gathered = this.#gathered.get(key);
    if (gathered === undefined) return;
    if (gathered.orders === null) {
      this.#gathered.delete(key);
      return;
    }
    this.#notify(key, gathered.orders);
    gathered.orders = null;
    gathered.cancel = this.#options.timers.after(ORDER_PAUSE_MS, () => this.#due(key));
  }

  #flush(key: string, gathered: Gathered): void {
    gathered.cancel();
    this.#gathered.delete(key);
    if (gathered.orders !== null) this.#notify(key, gathered.orders);
  }

  #notify(id: string, orders: NonNullable<Gathered["orders"]>): void {
    const { first, targets, count } = orders;
    this.#table.queue(id, null);
    const { turn, target: _, tenant, group, ...common } = first;
    this.#options.notify(turn, { ...common, count, targets }, { tenant, group });
  }
}
