/** An order as it lies in etcd: one key for each, with its stamp. Text of other or damaged forms is not an order. */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { SHARED_TABLES, type SharedRecord } from "../order-exchange.ts";
import { sharedRecordOf } from "../record-check.ts";

/** Bytes of the value of a key; etcd refuses requests above 1.5 MiB. */
export const ORDER_BYTES_MAX = 512 * 1024;

/** Further fields are those of a shared record; the tables check them, as they do of records of the link. */
const StoredOrder = Type.Object({
  /** The brain whose clock times in the record are of: the one that wrote it. */
  clock: Type.String({ minLength: 1, maxLength: 253 }),
  stamp: Type.Object({ ms: Type.Integer({ minimum: 0 }), brain: Type.String({ minLength: 1, maxLength: 253 }) }),
  record: Type.Unknown(),
});

export interface OrderInEtcd {
  readonly shared: SharedRecord;
  readonly clock: string;
}

/** A name of one order: neither part contains a slash once encoded. */
export function orderName({ table, key }: Pick<SharedRecord, "table" | "key">): string {
  return `${table}/${encodeURIComponent(key)}`;
}

/** @param own the brain that writes it, by whose clock its times are unless it says otherwise. */
export function orderText({ table: _table, key: _key, ...order }: SharedRecord, own: string): string {
  return JSON.stringify({ ...order, clock: order.clock ?? own });
}

/** null: it is none. @param name the key without the prefix of orders. */
export function orderIn(name: string, text: string): OrderInEtcd | null {
  const slash = name.indexOf("/");
  const table = SHARED_TABLES.find((known) => known === name.slice(0, slash));
  const order = table === undefined ? null : parsed(text);
  if (table === undefined || order === null) return null;
  const { clock, ...rest } = order;
  const shared = sharedRecordOf({ ...rest, table, key: decoded(name.slice(slash + 1)) });
  return shared === null ? null : { shared, clock };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function parsed(text: string): Static<typeof StoredOrder> | null {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(StoredOrder, value) ? value : null;
  } catch {
    return null;
  }
}
