/**
 * Queues changes of records for the store. An operator's change is stored before the request is answered; an automatic
 * change waits for the next flush(), so that a route never waits for the disk.
 */

/** Callbacks for the owner of a table. */
export interface WriteBehindOptions {
  /** A change waits for flush(), which must follow within milliseconds. */
  readonly onUnsaved: () => void;
  /** A write failed. Automatic changes stay in force and are written again with the next flush(). */
  readonly onStoreFault: (cause: unknown) => void;
}

export interface UnsavedRecordsOptions<Change> extends WriteBehindOptions {
  /** Stores one change, or removes its record. */
  readonly write: (change: Change, name: string) => void;
  /**
   * Returns when all writes of `writes` are on disk, or throws and none is: one disk sync for any number of changes.
   */
  readonly atOnce: (writes: () => void) => void;
  /** Maximum number of changes of one flush(), to bound the time that it blocks the event loop; absent: all. */
  readonly pieceMax?: number;
}

export class UnsavedRecords<Change> {
  readonly #options: UnsavedRecordsOptions<Change>;
  /** The newest change of each record, by the record's name. */
  readonly #waiting = new Map<string, Change>();

  constructor(options: UnsavedRecordsOptions<Change>) {
    this.#options = options;
  }

  get unsaved(): number {
    return this.#waiting.size;
  }

  has(name: string): boolean {
    return this.#waiting.has(name);
  }

  queue(name: string, change: Change): void {
    this.#waiting.set(name, change);
    this.#options.onUnsaved();
  }

  /**
   * Writes the changes at once, together with all queued ones, so that the order on disk is kept; with a `pieceMax`,
   * only these. Throws on failure, and changes nothing.
   */
  writeNow(changes: Iterable<readonly [name: string, change: Change]>): void {
    const waiting = this.#options.pieceMax === undefined ? this.#waiting : [];
    try {
      this.#write(new Map([...waiting, ...changes]));
    } catch (cause) {
      this.#options.onStoreFault(cause);
      throw cause;
    }
  }

  /** Writes queued changes; if some remain, onUnsaved is called again. When the write fails, all stay queued. */
  flush(): void {
    if (this.#waiting.size === 0) return;
    try {
      this.#write(new Map(this.#waiting.entries().take(this.#options.pieceMax ?? this.#waiting.size)));
    } catch (cause) {
      this.#options.onStoreFault(cause);
    }
  }

  /** Drops a queued change: another path wrote or removed the record. */
  forget(name: string): void {
    this.#waiting.delete(name);
  }

  #write(changes: ReadonlyMap<string, Change>): void {
    const { write, atOnce } = this.#options;
    atOnce(() => {
      for (const [name, change] of changes) write(change, name);
    });
    for (const name of changes.keys()) this.#waiting.delete(name);
  }
}
