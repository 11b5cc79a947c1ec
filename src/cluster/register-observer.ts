/** What is worth a line of the log, or a count, of what other brains send to the register of orders. */
import type { SharedTable } from "./order-exchange.ts";
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
