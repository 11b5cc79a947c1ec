/**
 * Changes of records on their way to the disk. What an operator orders is there before it is answered; what happens by
 * itself waits for the next flush(), so that no disk stands between an attack and its route.
 */

/** What the owner of a table hears of its changes. */
export interface WriteBehindOptions {
  /** A change waits for flush(), which is due in some milliseconds. */
  readonly onUnsaved: () => void;
  /** A write failed. What happened by itself holds all the same and is written again with the next flush(). */
  readonly onStoreFault: (cause: unknown) => void;
}

export interface UnsavedRecordsOptions<Change> extends WriteBehindOptions {
  /** Puts one change into the store, or takes its record out of it. */
  readonly write: (change: Change, name: string) => void;
  /** Returns when all that `writes` did is on disk, or throws and none of it is: one wait, however many changes. */
  readonly atOnce: (writes: () => void) => void;
  /** Changes that one flush() writes, so that the event loop can wait for them; absent: all. */
  readonly pieceMax?: number;
}

export class UnsavedRecords<Change> {
  readonly #options: UnsavedRecordsOptions<Change>;
  /** The last change of each record, by the record's name. */
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
   * With all that waits, so that the disk never has a later change without the earlier ones; where there is a `pieceMax`,
   * only these. Throws when it fails: then all is as it was.
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

  /** What it does not write yet asks for another one. All waits on when the write fails. */
  flush(): void {
    if (this.#waiting.size === 0) return;
    try {
      this.#write(new Map(this.#waiting.entries().take(this.#options.pieceMax ?? this.#waiting.size)));
    } catch (cause) {
      this.#options.onStoreFault(cause);
    }
  }

  /** Somebody else has written or removed it. */
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
