/** Whether the disk, and the other brains of a cluster, have taken an order that is in force (docs/interface.md#saved). */
import { type Static, Type } from "@sinclair/typebox";
import type { OrderKept } from "../../cluster/cluster-view.ts";

const BRAIN_NAME_MAX = 63;

/** Absent once the order is on disk. */
export const SAVED_FIELD = { saved: Type.Optional(Type.Literal(false)) };

/** For orders that brains share. */
export const KEPT_FIELDS = {
  ...SAVED_FIELD,
  /** Absent without a cluster, and once the order has reached the others. */
  shared: Type.Optional(Type.Literal(false)),
  /** Absent when there is none. */
  unconfirmed_by: Type.Optional(Type.Array(Type.String({ maxLength: BRAIN_NAME_MAX }))),
};

/** The state of an order when it is answered. */
export interface Settled {
  readonly isSaved: boolean;
  /** At the other brains; absent: there is no cluster, or the order is of this brain alone. */
  readonly kept?: OrderKept;
}

/** For answers without an order. */
export const SETTLED: Settled = { isSaved: true };

type SavedWire = { -readonly [Field in keyof typeof KEPT_FIELDS]?: Static<(typeof KEPT_FIELDS)[Field]> };

export function savedToWire({ isSaved, kept = { isShared: true, unconfirmedBy: [] } }: Settled): SavedWire {
  return {
    ...(isSaved ? {} : { saved: false }),
    ...(kept.isShared ? {} : { shared: false }),
    ...(kept.unconfirmedBy.length === 0 ? {} : { unconfirmed_by: [...kept.unconfirmedBy] }),
  };
}
