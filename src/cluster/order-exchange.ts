/** Orders as brains exchange them. The link of a pair is one exchange, etcd is another. */
import type { Stamp } from "./stamp.ts";

/** Tables of orders that all brains have. */
export const SHARED_TABLES = ["bans", "source_blocks", "filter_rules", "protections", "levers", "maintenance"] as const;
export type SharedTable = (typeof SHARED_TABLES)[number];

/** Times in the record are wall clock of the brain that has it, ms. */
export interface SharedRecord {
  readonly table: SharedTable;
  /** As in the state database; of a ban its prefix, since an order is about the prefix. */
  readonly key: string;
  readonly stamp: Stamp;
  /** null: a caller ended the order, or unbanned the prefix. */
  readonly record: unknown;
}

export interface OrderExchange {
  /**
   * Resolves with true once the other side has the record, or a newer one of its key, on disk. Never rejects, and tries until
   * then; the caller bounds its own wait. Resolves with false when the record is known not to be shared for now, as the
   * other side is out of reach; it is still carried on.
   */
  publish(record: SharedRecord): Promise<boolean>;
  /** Records of other brains; they may be old, or known. */
  onRecords(listener: (records: readonly SharedRecord[]) => void): void;
}
