/** The record of a brain about each order that brains share, beside the order itself. */
import type { EndedBy, SharedTable } from "./order-exchange.ts";
import type { Stamp } from "./stamp.ts";

export interface StampedOrder {
  readonly table: SharedTable;
  readonly key: string;
  readonly stamp: Stamp;
  /**
   * `in_force`: the record is in its table. `waiting`: this brain has no room for it, or its configuration does not allow
   * it; the record is here. `ended`: kept so that an older record of the key does not come back.
   */
  readonly state: "in_force" | "waiting" | "ended";
  readonly record: unknown;
  /** A caller ended it. */
  readonly endedBy?: EndedBy;
  /** Wall clock, ms, since when it is in this state. */
  readonly atMs: number;
  /** The brain whose clock the times are of, in `record` or of the end, as long as they cannot be corrected. */
  readonly clock?: string;
  /** The brain that sent it, or FROM_ETCD; absent: it is an order of this brain. */
  readonly from?: string;
}

/** Unique among all tables, as the key in the state database. */
export function stampedName({ table, key }: Pick<StampedOrder, "table" | "key">): string {
  return `${table} ${key}`;
}

/** The operator who ended a ban is known. */
export function endedByOf(record: unknown): EndedBy {
  const by = typeof record === "object" && record !== null && "endedBy" in record ? record.endedBy : null;
  const { operator = "", reason = "" } = (by as EndedBy | null | undefined) ?? {};
  return { operator, reason };
}

/** Whether the owner of the table moves the times of its orders when the wall clock is set. */
const MOVED: Readonly<Record<SharedTable, boolean>> = {
  ...{ bans: true, source_blocks: true, filter_rules: true, maintenance: true },
  ...{ protections: false, levers: false },
};

/** An order of the brain `own` by whose times others act: those that were published are of the clock of then. */
export function hasOwnTimes({ table, stamp, state, endedBy }: StampedOrder, own: string): boolean {
  return stamp.brain === own && (state === "ended" ? endedBy !== undefined : MOVED[table]);
}
