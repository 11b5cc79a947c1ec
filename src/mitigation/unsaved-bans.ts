/**
 * Changes of bans on their way to the disk. What an operator orders is there before it is answered; what happens by itself
 * waits for the next flush(), so that no disk stands between an attack and its route.
 */
import type { Ban } from "./ban.ts";

/** Where bans survive the process. */
export interface BanStore {
  saveBan(ban: Ban): void;
  removeBan(id: string): void;
  /** Returns when all that `writes` did is on disk, or throws and none of it is: one wait, however many bans. */
  atOnce(writes: () => void): void;
}

export interface UnsavedBansOptions {
  readonly store: BanStore;
  /** A change waits for flush(), which is due in some milliseconds. */
  readonly onUnsaved: () => void;
  /** A write failed. What happened by itself holds all the same and is written again with the next flush(). */
  readonly onStoreFault: (cause: unknown) => void;
}

export class UnsavedBans {
  readonly #options: UnsavedBansOptions;
  /** By id; null: forgotten, to be removed from the store. */
  readonly #waiting = new Map<string, Ban | null>();

  constructor(options: UnsavedBansOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.size;
  }

  soon(id: string, ban: Ban | null): void {
    this.#waiting.set(id, ban);
    this.#options.onUnsaved();
  }

  /** With all that waits, so that the disk never has a later change without the earlier ones. Throws when it fails. */
  now(ban: Ban): void {
    try {
      this.#write(new Map([...this.#waiting, [ban.id, ban]]));
    } catch (cause) {
      this.#options.onStoreFault(cause);
      throw cause;
    }
  }

  /** All of it waits on when the write fails. */
  flush(): void {
    if (this.#waiting.size === 0) return;
    try {
      this.#write(this.#waiting);
    } catch (cause) {
      this.#options.onStoreFault(cause);
    }
  }

  /** All that waits is among the changes. */
  #write(changes: ReadonlyMap<string, Ban | null>): void {
    const { store } = this.#options;
    store.atOnce(() => {
      for (const [id, ban] of changes) {
        if (ban === null) store.removeBan(id);
        else store.saveBan(ban);
      }
    });
    this.#waiting.clear();
  }
}
