/**
 * The interface of the store that keeps a table's records over a restart. Records reach the disk in the
 * order in which they were decided, and no call waits for the disk.
 */
export interface RecordTable<R> {
  /**
   * An automatic change, which is in force already: stored soon, and tried again until the disk takes it. Of several
   * changes that wait, the newest is stored. null: the record is removed.
   */
  queue(key: string, record: R | null): void;
  /**
   * As queue(), for a caller who waits. Resolves with true when the change, or a newer one of the same record, is on
   * disk; with false when the disk refused it or did not answer in time: then it stays queued.
   */
  save(key: string, record: R | null): Promise<boolean>;
  /**
   * As queue(), of records that another brain has sent. Resolves as save() does, once all are on disk; takes none of the
   * places of callers who wait.
   */
  saveAll(records: readonly (readonly [key: string, record: R])[]): Promise<boolean>;
  /**
   * Stores a record that is not in force before that. Resolves when it is on disk, with whether it is still the newest
   * change of this key. Rejects when the disk refuses it or does not answer in time; if the disk takes it later,
   * the record that `present` then returns replaces it.
   */
  write(key: string, record: R, present: () => R | null): Promise<boolean>;
  /** Number of changes in force that are not on disk yet. */
  readonly unsaved: number;
  /** Takes the orders of callers to the other brains of a cluster; absent: there is none. */
  readonly sharing?: TableSharing<R>;
}

/** Changes by themselves, such as the end of an order whose time is over, each brain makes on its own. */
export interface TableSharing<R> {
  /** A caller's order is written next: call this in the same turn before, so that both are on disk or neither. */
  begins(key: string, record: R): SharedBegin;
  /** A caller has ended the order: call this in the same turn before its end is written. */
  ends(key: string, record: R): void;
}

/** One of them follows, once. */
export interface SharedBegin {
  /** The order is in force here: others get it. */
  inForce(): void;
  /** It was refused or failed: it has never been. */
  dropped(): void;
}

/** A table whose records need not survive. */
export function forgettingTable<R>(): RecordTable<R> {
  return { queue: () => {}, save: async () => true, saveAll: async () => true, write: async () => true, unsaved: 0 };
}
