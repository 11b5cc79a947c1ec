/** The stamped orders of a brain by their names, with what is counted of them. */
import { SHARED_TABLES, type SharedTable } from "./order-exchange.ts";
import { type StampedOrder, stampedName } from "./stamped-order.ts";

export type StampedCounts = Readonly<Record<StampedOrder["state"], number>>;

export class StampedOrders {
  readonly #orders = new Map<string, StampedOrder>();
  readonly #counts: Record<StampedOrder["state"], number> = { in_force: 0, waiting: 0, ended: 0 };
  readonly #ended = new Map<SharedTable, number>(SHARED_TABLES.map((table) => [table, 0]));
  readonly #waiting = new Set<string>();
  #sweep: MapIterator<StampedOrder> | null = null;

  get(name: string): StampedOrder | null {
    return this.#orders.get(name) ?? null;
  }

  all(): MapIterator<StampedOrder> {
    return this.#orders.values();
  }

  get counts(): StampedCounts {
    return this.#counts;
  }

  waiting(): StampedOrder[] {
    return [...this.#waiting].flatMap((name) => this.get(name) ?? []);
  }

  set(order: StampedOrder): void {
    const name = stampedName(order);
    this.#count(this.get(name), -1);
    this.#count(order, 1);
    this.#orders.set(name, order);
    if (order.state === "waiting") this.#waiting.add(name);
    else this.#waiting.delete(name);
  }

  delete(order: StampedOrder): void {
    const name = stampedName(order);
    this.#count(this.get(name), -1);
    this.#orders.delete(name);
    this.#waiting.delete(name);
  }

  /** The next `most` orders; after the last one it begins again. */
  next(most: number): StampedOrder[] {
    this.#sweep ??= this.all();
    const some = this.#sweep.take(most).toArray();
    if (some.length < most) this.#sweep = null;
    return some;
  }

  /** The oldest ends of a table beyond `most`. */
  endsBeyond(table: SharedTable, most: number): StampedOrder[] {
    const over = (this.#ended.get(table) ?? 0) - most;
    if (over <= 0) return [];
    const ended = [...this.all()].filter((order) => order.state === "ended" && order.table === table);
    return ended.sort((a, b) => a.atMs - b.atMs).slice(0, over);
  }

  #count(order: StampedOrder | null, sign: 1 | -1): void {
    if (order === null) return;
    this.#counts[order.state] += sign;
    if (order.state === "ended") this.#ended.set(order.table, (this.#ended.get(order.table) ?? 0) + sign);
  }
}
