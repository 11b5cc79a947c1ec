/** Orders as brains exchange them. The link of a pair is one exchange, etcd is another. */
import { type Static, Type } from "@sinclair/typebox";
import type { Stamp } from "./stamp.ts";

/** Tables of orders that all brains have. */
export const SHARED_TABLES = ["bans", "source_blocks", "filter_rules", "protections", "levers", "maintenance"] as const;
export type SharedTable = (typeof SHARED_TABLES)[number];

/** The operator who ended an order, and the reason, where these are known. */
export const EndedBy = Type.Object({
  operator: Type.String({ maxLength: 256 }),
  reason: Type.String({ maxLength: 2000 }),
});
export type EndedBy = Static<typeof EndedBy>;

/** Times in the record are wall clock of the brain that has it, ms, unless it says of which they are. */
export interface SharedRecord {
  readonly table: SharedTable;
  /** As in the state database; of a ban its prefix, since an order is about the prefix. */
  readonly key: string;
  readonly stamp: Stamp;
  /** null: the order is over. */
  readonly record: unknown;
  /** A caller ended the order, or unbanned the prefix, whatever ban it had. Absent: it is in force, or its time is over. */
  readonly endedBy?: EndedBy;
  /** When the caller ended it. */
  readonly endedAtMs?: number;
  /** The brain whose wall clock its times are of, which is not known well enough to correct them. */
  readonly clock?: string;
}

/** The wall clock of another brain, as last measured. */
export interface ClockOfBrain {
  /** That clock minus the own one, ms. */
  readonly skewMs: number;
  /** The brain is in reach: its clock cannot have been set since without being noticed. */
  readonly isCurrent: boolean;
}

/** From whom the records of an exchange are that has no one brain at its other end. */
export const FROM_ETCD = "etcd";
/** @param from the brain that sent them, or FROM_ETCD. */
export type RecordListener = (records: readonly SharedRecord[], from: string) => Promise<readonly TakeOutcome[]>;

/** `unsaved`: the disk has not taken it yet; it comes again. `refused`: this brain will not take it. */
export type TakeOutcome = "taken" | "refused" | "unsaved";

export interface OrderExchange {
  /**
   * Resolves with true once the other side has the record, or a newer one of its key, on disk. Never rejects, and tries until
   * then; the caller bounds its own wait. Resolves with false as soon as it is known that this will take long, as the
   * other side is out of reach; the record is still carried on.
   */
  publish(record: SharedRecord): Promise<boolean>;
  /** Brains that have not confirmed the newest record of the key; absent: the exchange does not know. */
  unconfirmedBy?(table: SharedTable, key: string): readonly string[];
  /** Records of other brains; they may be old, or known. The outcomes are in the same order. */
  onRecords(listener: RecordListener): void;
  /** A published order is kept as it was, and read by brains that do not know when that was. */
  readonly keepsTimes?: boolean;
  /** The wall clock of this brain was set: orders that are not taken yet have other times now. */
  clockStepped?(): void;
}
