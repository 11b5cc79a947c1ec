/** A table that brains share, as the register of orders sees it: its owner makes one of these. */
import type { EndedBy, SharedTable } from "./order-exchange.ts";

export interface OrderTable {
  /** How long the end of an order is kept, ms: as long as an order of the table can last. */
  readonly lifeMs: number;
  /** Ends kept at most; beyond, the oldest go. */
  readonly endedMax: number;
  keyOf(record: unknown): string;
  /** Whether an order of the table may have this key. */
  isKey(key: string): boolean;
  /** Parses the record of a peer; null: it cannot be one of this key. */
  parse(value: unknown, key: string): unknown;
  /** The record of what a caller ordered and is in force; null: there is none. */
  present(key: string): unknown;
  /** All of them. */
  all(): Iterable<unknown>;
  /** Wall clock, ms. */
  beganAt(record: unknown): number;
  /** null: it has no end by time. */
  endsAt(record: unknown): number | null;
  /** The same record on a clock that is `byMs` ahead. */
  shifted(record: unknown, byMs: number): unknown;
  /** Puts the record of another brain in force. Returns null, or why that is not possible now; then nothing has changed. */
  adopt(record: unknown, wallMs: number): string | null;
  /** Ends what is in force under the key. */
  end(end: TableEnd, wallMs: number): void;
}

export interface TableEnd {
  readonly key: string;
  /** On the clock of this brain: what began after it stays. */
  readonly endedAtMs: number;
  /** null: its time is over at another brain, or it is replaced by what this brain has no room for. */
  readonly endedBy: EndedBy | null;
}

export type OrderTables = Readonly<Record<SharedTable, OrderTable>>;
