/**
 * Keeps the pairs in the kernel equal to the wanted ones: put() and remove() act at once, settle() does the rest and
 * retries what the kernel refused. Pairs of an earlier process are adopted or removed.
 */
import type { PairInstaller } from "./pair-installer.ts";
import { type Pair, pairName, type SourceBlock } from "./source-block.ts";

/**
 * Source blocks processed in one step on the event loop: checked against a new configuration, installed in the kernel,
 * or written to disk.
 */
export const SOURCE_BLOCKS_PER_PIECE = 2048;

export const KERNEL_OPERATIONS = ["read", "put", "remove"] as const;
export type KernelOperation = (typeof KERNEL_OPERATIONS)[number];

interface KernelPairsOptions {
  /** null: no data plane; nothing is ever installed. */
  readonly installer: PairInstaller | null;
  /** Called by settle(), which retries later. */
  readonly onFault: (operation: KernelOperation, cause: unknown) => void;
}

export class KernelPairs {
  readonly #installer: PairInstaller | null;
  readonly #onFault: KernelPairsOptions["onFault"];
  /** Wanted pairs that this process has not installed yet, by name. */
  readonly #missing = new Map<string, SourceBlock>();
  /** Pairs that may be in the kernel and are not wanted. */
  readonly #unwanted = new Map<string, Pair>();
  /** The pairs of an earlier process have been read. */
  #isAdopted = false;

  constructor({ installer, onFault }: KernelPairsOptions) {
    this.#installer = installer;
    this.#onFault = onFault;
  }

  get hasInstaller(): boolean {
    return this.#installer !== null;
  }

  get isUp(): boolean {
    return this.#installer?.isUp() === true;
  }

  /** The content of the kernel is unknown: read it again. */
  reset(): void {
    this.#isAdopted = false;
    this.#unwanted.clear();
  }

  /** Number of wanted pairs that are not installed yet. */
  get missing(): number {
    return this.#missing.size;
  }

  isMissing(pair: Pair): boolean {
    return this.#missing.has(pairName(pair));
  }

  /** Whether the pair still must be removed. */
  isUnwanted(pair: Pair): boolean {
    return this.#unwanted.has(pairName(pair));
  }

  get isSettled(): boolean {
    return this.#installer === null || (this.#isAdopted && this.#missing.size === 0 && this.#unwanted.size === 0);
  }

  /** Throws when the kernel refuses. */
  put(block: SourceBlock): void {
    this.#installer?.putPairs([kernelPair(block)]);
    this.#missing.delete(pairName(block));
    this.#unwanted.delete(pairName(block));
  }

  /** Throws when the kernel refuses. */
  remove(pair: Pair): void {
    this.#installer?.removePairs([pair]);
    this.#missing.delete(pairName(pair));
    this.#unwanted.delete(pairName(pair));
  }

  /** settle() installs it. */
  want(block: SourceBlock): void {
    this.#unwanted.delete(pairName(block));
    this.#missing.set(pairName(block), block);
  }

  /** settle() removes it. Pairs in a kernel filter that is not up are found when it is opened. */
  unwant(pair: Pair): void {
    if (this.isUp) this.#unwanted.set(pairName(pair), pair);
    this.#missing.delete(pairName(pair));
  }

  /** Updates a block that waits for its installation. */
  updateMissing(block: SourceBlock): void {
    if (this.isMissing(block)) this.#missing.set(pairName(block), block);
  }

  /**
   * Does one bounded part of the pending work: removals first.
   * @param room how many more pairs the kernel may hold.
   */
  settle(wanted: (pair: Pair) => boolean, room: number): void {
    const installer = this.#installer;
    if (installer === null || !installer.isUp() || this.isSettled) return;
    this.#try("read", () => this.#adopt(installer, wanted));
    this.#try("remove", () => {
      const unwanted = [...this.#unwanted.values().take(SOURCE_BLOCKS_PER_PIECE)];
      if (unwanted.length > 0) installer.removePairs(unwanted);
      for (const pair of unwanted) this.#unwanted.delete(pairName(pair));
    });
    this.#try("put", () => {
      const missing = [...this.#missing.values().take(Math.min(SOURCE_BLOCKS_PER_PIECE, Math.max(0, room)))];
      if (missing.length > 0) installer.putPairs(missing.map(kernelPair));
      for (const block of missing) this.#missing.delete(pairName(block));
    });
  }

  #adopt(installer: PairInstaller, wanted: (pair: Pair) => boolean): void {
    if (this.#isAdopted) return;
    for (const pair of installer.readPairs()) if (!wanted(pair)) this.#unwanted.set(pairName(pair), pair);
    this.#isAdopted = true;
  }

  #try(operation: KernelOperation, step: () => void): void {
    try {
      step();
    } catch (cause) {
      this.#onFault(operation, cause);
    }
  }
}

function kernelPair({ source, victim, expiresAt }: SourceBlock) {
  return { source, victim, expiresAtMs: expiresAt };
}
