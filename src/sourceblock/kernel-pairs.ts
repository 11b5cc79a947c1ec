/**
 * Brings the kernel's pairs to those that are wanted there: at once for an order, else by settle(), which tries again
 * what the kernel refused. What the kernel holds of an earlier process is taken over or taken out.
 */
import { SOURCE_BLOCKS_PER_PIECE } from "../limits.ts";
import type { PairInstaller } from "./pair-installer.ts";
import { type Pair, pairName, type SourceBlock } from "./source-block.ts";

export const KERNEL_OPERATIONS = ["read", "put", "remove"] as const;
export type KernelOperation = (typeof KERNEL_OPERATIONS)[number];

export interface KernelPairsOptions {
  /** null: there is no data plane; nothing is ever installed. */
  readonly installer: PairInstaller | null;
  /** By settle(): what it could not do is tried again. */
  readonly onFault: (operation: KernelOperation, cause: unknown) => void;
}

export class KernelPairs {
  readonly #installer: PairInstaller | null;
  readonly #onFault: KernelPairsOptions["onFault"];
  /** Wanted, and not put there by this process yet. By the name of the pair. */
  readonly #missing = new Map<string, SourceBlock>();
  /** Perhaps in the kernel, and not wanted. */
  readonly #strays = new Map<string, Pair>();
  /** What an earlier process left is known. */
  #isAdopted = false;

  constructor({ installer, onFault }: KernelPairsOptions) {
    this.#installer = installer;
    this.#onFault = onFault;
  }

  get isThere(): boolean {
    return this.#installer !== null;
  }

  get isUp(): boolean {
    return this.#installer?.isUp() === true;
  }

  /** What the kernel holds is not known any more: it is read again. */
  beginAnew(): void {
    this.#isAdopted = false;
    this.#strays.clear();
  }

  /** How many are wanted and were not put there yet. */
  get missing(): number {
    return this.#missing.size;
  }

  isMissing(pair: Pair): boolean {
    return this.#missing.has(pairName(pair));
  }

  /** To be taken out. */
  isStray(pair: Pair): boolean {
    return this.#strays.has(pairName(pair));
  }

  get isSettled(): boolean {
    return this.#installer === null || (this.#isAdopted && this.#missing.size === 0 && this.#strays.size === 0);
  }

  /** Throws when the kernel does not take it. */
  put(block: SourceBlock): void {
    this.#installer?.putPairs([kernelPair(block)]);
    this.#missing.delete(pairName(block));
    this.#strays.delete(pairName(block));
  }

  /** Throws when the kernel does not give it up. */
  remove(pair: Pair): void {
    this.#installer?.removePairs([pair]);
    this.#missing.delete(pairName(pair));
    this.#strays.delete(pairName(pair));
  }

  /** To be brought in by settle(). */
  want(block: SourceBlock): void {
    this.#strays.delete(pairName(block));
    this.#missing.set(pairName(block), block);
  }

  /** To be taken out by settle(). What a kernel that is not up holds of it is seen when it comes. */
  unwant(pair: Pair): void {
    if (this.isUp) this.#strays.set(pairName(pair), pair);
    this.#missing.delete(pairName(pair));
  }

  /** A block that waits has another expiry now. */
  updateMissing(block: SourceBlock): void {
    if (this.isMissing(block)) this.#missing.set(pairName(block), block);
  }

  /**
   * One piece of what is left to do: first out, then in.
   * @param room how many pairs the kernel may take beside those that it has.
   */
  settle(wanted: (pair: Pair) => boolean, room: number): void {
    const installer = this.#installer;
    if (installer === null || !installer.isUp() || this.isSettled) return;
    this.#try("read", () => this.#adopt(installer, wanted));
    this.#try("remove", () => {
      const strays = [...this.#strays.values().take(SOURCE_BLOCKS_PER_PIECE)];
      if (strays.length > 0) installer.removePairs(strays);
      for (const pair of strays) this.#strays.delete(pairName(pair));
    });
    this.#try("put", () => {
      const missing = [...this.#missing.values().take(Math.min(SOURCE_BLOCKS_PER_PIECE, Math.max(0, room)))];
      if (missing.length > 0) installer.putPairs(missing.map(kernelPair));
      for (const block of missing) this.#missing.delete(pairName(block));
    });
  }

  #adopt(installer: PairInstaller, wanted: (pair: Pair) => boolean): void {
    if (this.#isAdopted) return;
    for (const pair of installer.readPairs()) if (!wanted(pair)) this.#strays.set(pairName(pair), pair);
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
