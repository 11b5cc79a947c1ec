/** The drops of the kernel for source blocks, by the name of the pair: all at most once a second, or a few now. */
import { type Pair, pairName } from "../sourceblock/source-block.ts";
import type { Dropped } from "./data-plane-rules.ts";
import type { FilterPairRow, KernelFilter } from "./kernel-filter.ts";

/** Readings of all pairs are kept for this time, ms. */
const READ_MS = 1000;
/** Reading more than this takes the event loop longer than a tick may take. */
const PAIRS_COUNTED_MAX = 16_384;

type Counts = ReadonlyMap<string, Dropped>;
type Reading = Pick<KernelFilter, "readPairs" | "readPairsOf">;

export class PairCounts {
  readonly #monotonicMs: () => number;
  #all: { readonly untilMs: number; readonly counts: Counts } | null = null;
  /** Counts of the pairs that were removed last, which end with them. */
  #removed: Counts = new Map();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  forget(): void {
    this.#all = null;
    this.#removed = new Map();
  }

  /** Empty if there are very many. @param size how many there are */
  all(filter: Reading, size: number): Counts {
    if (size > PAIRS_COUNTED_MAX) return new Map();
    const nowMs = this.#monotonicMs();
    if (this.#all === null || nowMs >= this.#all.untilMs) {
      this.#all = { untilMs: nowMs + READ_MS, counts: countsOf(filter.readPairs()) };
    }
    return this.#all.counts;
  }

  /** To be called before they are removed. */
  keepLast(filter: Reading, pairs: readonly Pair[]): void {
    this.#removed = countsOf(filter.readPairsOf(pairs));
  }

  /** The counts of these alone: as they are now, or were when they were removed last. */
  last(filter: Reading, pairs: readonly Pair[]): Counts {
    return new Map([...this.#removed, ...countsOf(filter.readPairsOf(pairs))]);
  }
}

function countsOf(rows: readonly FilterPairRow[]): Counts {
  return new Map(rows.map((row) => [pairName(row), row]));
}
