/**
 * Changes of source blocks on their way to the disk. What an operator orders is there before it is answered; what ends by
 * itself waits for the next flush().
 */
import { SOURCE_BLOCKS_PER_PIECE } from "../limits.ts";
import { type Pair, pairName, type SourceBlock } from "./source-block.ts";

/** Where blocks survive the process. */
export interface SourceBlockStore {
  saveSourceBlock(block: SourceBlock): void;
  removeSourceBlock(pair: Pair): void;
  /** Returns when all that `writes` did is on disk, or throws and none of it is. */
  atOnce(writes: () => void): void;
}

/** null: it is over, and its row is to be removed. */
export interface BlockChange {
  readonly pair: Pair;
  readonly block: SourceBlock | null;
}

export interface UnsavedBlocksOptions {
  readonly store: SourceBlockStore;
  /** A change waits for flush(), which is due in some milliseconds. */
  readonly onUnsaved: () => void;
  readonly onStoreFault: (cause: unknown) => void;
}

export class UnsavedBlocks {
  readonly #options: UnsavedBlocksOptions;
  /** By the name of the pair. */
  readonly #waiting = new Map<string, BlockChange>();

  constructor(options: UnsavedBlocksOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.size;
  }

  isWaiting(pair: Pair): boolean {
    return this.#waiting.has(pairName(pair));
  }

  soon(changes: Iterable<BlockChange>): void {
    for (const change of changes) this.#waiting.set(pairName(change.pair), change);
    if (this.#waiting.size > 0) this.#options.onUnsaved();
  }

  /** Instead of what waits for the same pairs. Throws when it fails: then all is as it was. */
  now(changes: readonly BlockChange[]): void {
    try {
      this.#write(changes);
    } catch (cause) {
      this.#options.onStoreFault(cause);
      throw cause;
    }
  }

  /** So many that the event loop can wait for them; the rest asks for another flush. All waits on when it fails. */
  flush(): void {
    if (this.#waiting.size === 0) return;
    try {
      this.#write(this.#waiting.values().take(SOURCE_BLOCKS_PER_PIECE).toArray());
    } catch (cause) {
      this.#options.onStoreFault(cause);
    }
  }

  #write(changes: readonly BlockChange[]): void {
    const { store } = this.#options;
    store.atOnce(() => {
      for (const { pair, block } of changes) {
        if (block === null) store.removeSourceBlock(pair);
        else store.saveSourceBlock(block);
      }
    });
    for (const { pair } of changes) this.#waiting.delete(pairName(pair));
  }
}
