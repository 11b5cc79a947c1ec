/** The interface between source blocks and the kernel. The data plane implements it. */
import type { Pair } from "./source-block.ts";

export interface KernelPair extends Pair {
  /** Wall clock, ms. The kernel stores it on its own clock, so that the pair expires also without this process. */
  readonly expiresAtMs: number;
}

/** Each call throws, without effect, when the kernel refuses or is not up. */
export interface PairInstaller {
  /** False while the kernel filter is closed. Once it is open, SourceBlocks.onKernelUp() is called. */
  isUp(): boolean;
  /** An existing pair gets the new expiry. */
  putPairs(pairs: readonly KernelPair[]): void;
  /** A missing pair counts as removed. */
  removePairs(pairs: readonly Pair[]): void;
  /** All pairs that have not expired, also those of an earlier process. */
  readPairs(): readonly Pair[];
}
