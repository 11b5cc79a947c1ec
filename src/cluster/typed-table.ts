/** A table of orders of one type, as the register of orders takes it. */
import type { OrderTable, TableEnd } from "./order-table.ts";

/** As OrderTable, of records of one type. */
interface TypedTable<R extends object> {
  readonly lifeMs: number;
  readonly endedMax: number;
  readonly keyOf: (record: R) => string;
  readonly isKey: (key: string) => boolean;
  readonly parse: (value: unknown, key: string) => R | null;
  readonly present: (key: string) => R | null;
  readonly all: () => Iterable<R>;
  readonly beganAt: (record: R) => number;
  readonly endsAt: (record: R) => number | null;
  readonly shifted: (record: R, byMs: number) => R;
  readonly adopt: (record: R, wallMs: number) => string | null;
  /** @param record the one in force. */
  readonly endAdopted: (record: R, end: TableEnd, wallMs: number) => void;
}

/** Records come from the table itself, or have passed its parse(). */
export function orderTable<R extends object>(table: TypedTable<R>): OrderTable {
  return {
    lifeMs: table.lifeMs,
    endedMax: table.endedMax,
    keyOf: (record) => table.keyOf(record as R),
    isKey: (key) => table.isKey(key),
    parse: (value, key) => table.parse(value, key),
    present: (key) => table.present(key),
    all: () => table.all(),
    beganAt: (record) => table.beganAt(record as R),
    endsAt: (record) => table.endsAt(record as R),
    shifted: (record, byMs) => table.shifted(record as R, byMs),
    adopt: (record, wallMs) => table.adopt(record as R, wallMs),
    end(end, wallMs) {
      const present = table.present(end.key);
      if (present !== null) table.endAdopted(present, end, wallMs);
    },
  };
}
