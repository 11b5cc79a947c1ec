/** The options of the register of orders, and its messages about orders of other brains. */
import type { RecordTable } from "../system/record-table.ts";
import type { ClockOfBrain, SharedTable } from "./order-exchange.ts";
import type { StampedOrder } from "./stamped-order.ts";

export type RefusalCause = "invalid" | "ahead" | "full" | "failed";

export interface RegisterObserver {
  /** A record of another brain is not taken. */
  readonly refused: (cause: RefusalCause, detail: string) => void;
  /** It is kept, and not in force: `why`. */
  readonly waits: (order: StampedOrder, why: string) => void;
  /** Ends were dropped before their time, as there are too many. */
  readonly endsDropped: (table: SharedTable, count: number) => void;
}

export interface OrderRegisterOptions {
  /** The name of this brain. */
  readonly own: string;
  readonly wallMs: () => number;
  /** By stampedName(). */
  readonly store: Pick<RecordTable<StampedOrder>, "queue" | "saveAll">;
  /** null: never measured. */
  readonly clockOf: (brain: string) => ClockOfBrain | null;
  readonly observer: RegisterObserver;
}
