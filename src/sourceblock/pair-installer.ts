/** What source blocks ask of the kernel's side. The data plane implements it. */
import type { Pair } from "./source-block.ts";

export interface KernelPair extends Pair {
  /** Wall clock, ms; the kernel carries it in its own time, so that the pair lapses with or without this process. */
  readonly expiresAtMs: number;
}

/** Each call throws when the kernel refuses, and then has done nothing; also while it is not up. */
export interface PairInstaller {
  /** False while nothing can be had of the kernel. When that is over, SourceBlocks.kernelCame() is called. */
  isUp(): boolean;
  /** One that is there already gets the new expiry. */
  putPairs(pairs: readonly KernelPair[]): void;
  /** One that is not there is as good as removed. */
  removePairs(pairs: readonly Pair[]): void;
  /** All that have not lapsed, also those of an earlier process. */
  readPairs(): readonly Pair[];
}
