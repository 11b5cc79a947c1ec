/** The stamped orders of a brain by their names, with what is counted of them, and the bounds of what other brains send. */
import { SHARED_TABLES, type SharedTable } from "./order-exchange.ts";
import { type StampedOrder, stampedName } from "./stamped-order.ts";

export type StampedCounts = Readonly<Record<StampedOrder["state"], number>>;

/** Orders of other brains that wait for room here, and their bytes as JSON. */
export const WAITING_MAX = 4096;
export const WAITING_BYTES_MAX = 16 * 1024 * 1024;

/** As a sender: orders of this brain. */
const OWN = "";

export class StampedOrders {
  readonly #orders = new Map<string, StampedOrder>();
  readonly #counts: Record<StampedOrder["state"], number> = { in_force: 0, waiting: 0, ended: 0 };
  /** By table, by who sent them: names of ends, the oldest first. */
  readonly #ends = new Map<SharedTable, Map<string, Set<string>>>(SHARED_TABLES.map((table) => [table, new Map()]));
  /** Bytes by name, in the order in which they are tried again. */
  readonly #waiting = new Map<string, number>();
  #waitingBytes = 0;
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
    return [...this.#waiting.keys()].flatMap((name) => this.get(name) ?? []);
  }

  /** The next `most` that wait: all of them have their turn. */
  nextWaiting(most: number): StampedOrder[] {
    const names = [...this.#waiting.keys().take(most)];
    for (const name of names) {
      const bytes = this.#waiting.get(name) ?? 0;
      this.#waiting.delete(name);
      this.#waiting.set(name, bytes);
    }
    return names.flatMap((name) => this.get(name) ?? []);
  }

  /** Whether the order can wait, in place of another one of its name. */
  hasRoomToWait(order: StampedOrder): boolean {
    const before = this.#waiting.get(stampedName(order));
    const isWithin = before !== undefined || this.#waiting.size < WAITING_MAX;
    return isWithin && this.#waitingBytes - (before ?? 0) + bytesOf(order) <= WAITING_BYTES_MAX;
  }

  set(order: StampedOrder): void {
    const name = stampedName(order);
    this.#uncount(name);
    this.#counts[order.state]++;
    this.#orders.set(name, order);
    if (order.state === "ended") this.#endsOf(order).add(name);
    if (order.state !== "waiting") return;
    const bytes = bytesOf(order);
    this.#waiting.set(name, bytes);
    this.#waitingBytes += bytes;
  }

  delete(order: StampedOrder): void {
    const name = stampedName(order);
    this.#uncount(name);
    this.#orders.delete(name);
  }

  /** The next `most` orders; after the last one it begins again. */
  next(most: number): StampedOrder[] {
    this.#sweep ??= this.all();
    const some = this.#sweep.take(most).toArray();
    if (some.length < most) this.#sweep = null;
    return some;
  }

  /**
   * An end that goes first where a table has more than `most`: the oldest of the sender that has most of them, so that no brain
   * can have those of another one forgotten by sending many. null: there are not too many.
   */
  endBeyond(table: SharedTable, most: number): StampedOrder | null {
    const senders = [...(this.#ends.get(table)?.values() ?? [])];
    if (senders.reduce((sum, { size }) => sum + size, 0) <= most) return null;
    const [oldest] = senders.reduce((a, b) => (b.size >= a.size ? b : a));
    return oldest === undefined ? null : this.get(oldest);
  }

  #endsOf({ table, from = OWN }: StampedOrder): Set<string> {
    const senders = this.#ends.get(table) ?? new Map<string, Set<string>>();
    const names = senders.get(from) ?? new Set<string>();
    senders.set(from, names);
    return names;
  }

  #uncount(name: string): void {
    const order = this.get(name);
    if (order === null) return;
    this.#counts[order.state]--;
    if (order.state === "ended") this.#endsOf(order).delete(name);
    this.#waitingBytes -= this.#waiting.get(name) ?? 0;
    this.#waiting.delete(name);
  }
}

function bytesOf({ record }: StampedOrder): number {
  return Buffer.byteLength(JSON.stringify(record) ?? "");
}
