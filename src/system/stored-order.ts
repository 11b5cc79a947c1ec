/**
 * An order that begins something: its record is on disk before it takes effect. The write takes time, in which the
 * tables change, so the order is decided again after it.
 */
import type { RecordTable, SharedBegin } from "./record-table.ts";

export type Decision<R, Refusal> =
  | {
      readonly kind: "begins";
      readonly key: string;
      readonly record: R;
      /** All that the record depends on: if none of it is another one after the write, the record still holds. */
      readonly basis: readonly unknown[];
    }
  | { readonly kind: "refused"; readonly refusal: Refusal };

interface StoredOrder<R, Refusal> {
  readonly table: RecordTable<R>;
  readonly decide: () => Decision<R, Refusal>;
  /** The record in force under this key; null: none. */
  readonly present: (key: string) => R | null;
  readonly takeEffect: (record: R) => void | Promise<void>;
}

export type OrderOutcome<R, Refusal> =
  | {
      readonly kind: "done";
      readonly record: R;
      /** False: the order is in force, and the disk has refused its last change so far. */
      readonly isSaved: boolean;
    }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Rejects with the error of the store, if nothing has changed, or with that of `takeEffect`. */
export async function carryOut<R, Refusal>(order: StoredOrder<R, Refusal>): Promise<OrderOutcome<R, Refusal>> {
  const { table, decide, present } = order;
  const first = decide();
  if (first.kind === "refused") return first;
  const begin = table.sharing?.begins(first.key, first.record);
  const isNewest = await table
    .write(first.key, first.record, () => present(first.key))
    .catch((cause: unknown) => {
      begin?.dropped();
      throw cause;
    });
  const second = decide();
  const undo = () => {
    if (isNewest) table.queue(first.key, present(first.key));
  };
  if (second.kind === "refused") {
    begin?.dropped();
    undo();
    return second;
  }
  if (isNewest && first.basis.every((part, i) => part === second.basis[i])) {
    await takeEffect(order, first.record, begin);
    return { kind: "done", record: first.record, isSaved: true };
  }
  begin?.dropped();
  if (second.key !== first.key) undo();
  // Queued before it takes effect, which may fail and remove it again.
  const secondBegin = table.sharing?.begins(second.key, second.record);
  const saved = table.save(second.key, second.record);
  await takeEffect(order, second.record, secondBegin);
  return { kind: "done", record: second.record, isSaved: await saved };
}

async function takeEffect<R>(
  order: Pick<StoredOrder<R, unknown>, "takeEffect">,
  record: R,
  begin: SharedBegin | undefined,
): Promise<void> {
  try {
    await order.takeEffect(record);
  } catch (cause) {
    begin?.dropped();
    throw cause;
  }
  begin?.inForce();
}
