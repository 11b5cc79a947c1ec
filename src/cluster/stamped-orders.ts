/** The stamped orders of a brain by their names, with what is counted of them, and the bounds of what other brains send. */
import { SHARED_TABLES, type SharedTable } from "./order-exchange.ts";
import { type StampedOrder, stampedName } from "./stamped-order.ts";

export type StampedCounts = Readonly<Record<StampedOrder["state"], number>>;

/** Orders of other brains that wait for room here. */
export const WAITING_MAX = 4096;
/** Bytes as JSON of those, and of what is over by a clock that is not known: it may come back. */
export const WAITING_BYTES_MAX = 16 * 1024 * 1024;

/** As a sender: orders of this brain. */
const OWN = "";

export class StampedOrders {
  readonly #orders = new Map<string, StampedOrder>();
  readonly #counts: Record<StampedOrder["state"], number> = { in_force: 0, waiting: 0, ended: 0 };
  /** By table, by who sent them: names of ends, the oldest first. */
  readonly #ends = new Map<SharedTable, Map<string, Set<string>>>(SHARED_TABLES.map((table) => [table, new Map()]));
  /** Names in the order in which they are tried again. */
  readonly #waiting = new Set<string>();
  /** By name: of records that are kept here, and not in force. */
  readonly #bytes = new Map<string, number>();
  #keptBytes = 0;
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

  /** The next `most` that wait: all of them have their turn. */
  nextWaiting(most: number): StampedOrder[] {
    const names = [...this.#waiting.keys().take(most)];
    for (const name of names) {
      this.#waiting.delete(name);
      this.#waiting.add(name);
    }
    return names.flatMap((name) => this.get(name) ?? []);
  }

  /** Whether the order can be kept with its record, in place of another one of its name. */
  hasRoom(order: StampedOrder): boolean {
    const name = stampedName(order);
    const isWithin = order.state !== "waiting" || this.#waiting.has(name) || this.#waiting.size < WAITING_MAX;
    return isWithin && this.#keptBytes - (this.#bytes.get(name) ?? 0) + bytesOf(order) <= WAITING_BYTES_MAX;
  }

  set(order: StampedOrder): void {
    const name = stampedName(order);
    this.#uncount(name);
    this.#counts[order.state]++;
    this.#orders.set(name, order);
    if (order.state === "ended") this.#endsOf(order).add(name);
    if (order.state === "waiting") this.#waiting.add(name);
    const bytes = bytesOf(order);
    if (bytes === 0) return;
    this.#bytes.set(name, bytes);
    this.#keptBytes += bytes;
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
    this.#waiting.delete(name);
    this.#keptBytes -= this.#bytes.get(name) ?? 0;
    this.#bytes.delete(name);
  }
}

/** Those of tables that this build has, in the order in which ends are forgotten. */
export function oldestFirst(stored: Iterable<StampedOrder>): StampedOrder[] {
  return [...stored].filter(({ table }) => SHARED_TABLES.includes(table)).sort((a, b) => a.atMs - b.atMs);
}

/** Those in force are bounded by their table. */
function bytesOf({ state, record }: StampedOrder): number {
  return state === "in_force" || record === null ? 0 : Buffer.byteLength(JSON.stringify(record) ?? "");
}
