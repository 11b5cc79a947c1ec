/** Writes changes in memory to the state database: soon after a change, and again while the disk refuses. */
import type { Timers } from "../system/timers.ts";

/** A table with changes that are not on disk yet. */
export interface Unsaved {
  readonly unsaved: number;
  /** Never throws: what could not be written is tried again. */
  flush(): void;
}

/** Time from a change to its write, ms: by then its announcement has been sent. */
const FLUSH_MS = 20;
/** After a failed write. */
const FLUSH_AGAIN_MS = 1000;

export class WriteBehind {
  readonly #timers: Timers;
  readonly #tables: readonly Unsaved[];
  #cancel: (() => void) | null = null;

  constructor(timers: Timers, tables: readonly Unsaved[]) {
    this.#timers = timers;
    this.#tables = tables;
  }

  /** Something changed. */
  schedule(): void {
    this.#cancel ??= this.#timers.after(FLUSH_MS, () => this.#flush());
  }

  /** One last time. */
  stop(): void {
    this.#cancel?.();
    for (const table of this.#tables) table.flush();
  }

  #flush(): void {
    this.#cancel = null;
    for (const table of this.#tables) table.flush();
    if (this.#tables.every(({ unsaved }) => unsaved === 0)) return;
    this.#cancel = this.#timers.after(FLUSH_AGAIN_MS, () => this.#flush());
  }
}
