/**
 * Owns the table of source blocks: operators add and remove them, time and policy end them
 * (docs/interface.md#source-block-states). A block is stored, then installed in the kernel, then the request is
 * answered; if the kernel refuses, it is removed again. Dry run is decided here: then the kernel is not changed.
 */
import { SOURCE_BLOCK_SECONDS_MAX, SOURCE_BLOCKS_PER_PIECE } from "../limits.ts";
import { UnsavedRecords } from "../system/unsaved-records.ts";
import {
  type BlockRefusal,
  blockRefusal,
  PAIR_REFUSALS,
  pairRefusal,
  type SourceBlockPolicy,
  slotsFree,
} from "./admission.ts";
import { BlockTable } from "./block-table.ts";
import { type KernelOperation, KernelPairs } from "./kernel-pairs.ts";
import type { PairInstaller } from "./pair-installer.ts";
import { type BlockRequest, blockOf, isLive, type Pair, pairName, type SourceBlock } from "./source-block.ts";

/** Stores the blocks over restarts. */
export interface SourceBlockStore {
  saveSourceBlock(block: SourceBlock): void;
  removeSourceBlock(pair: Pair): void;
  /** Returns when all writes of `writes` are on disk, or throws and none is. */
  atOnce(writes: () => void): void;
}

/** `block` null: the block ended, and its row must be removed. */
interface BlockChange {
  readonly pair: Pair;
  readonly block: SourceBlock | null;
}

type NamedChange = readonly [name: string, change: BlockChange];

export interface SourceBlocksOptions {
  readonly policy: SourceBlockPolicy;
  readonly store: SourceBlockStore;
  /** null: no data plane. */
  readonly installer: PairInstaller | null;
  readonly observer: SourceBlockObserver;
  /** A change waits for flush(), which must follow within milliseconds. */
  readonly onUnsaved: () => void;
}

/** How a block ended; a PairRefusal: a new configuration refuses it. */
export const BLOCK_ENDS = ["unblocked", "expired", "install_failed", ...PAIR_REFUSALS] as const;
export type BlockEnd = (typeof BLOCK_ENDS)[number];

export interface SourceBlockObserver {
  blocked(view: SourceBlockView): void;
  refused(refusal: BlockRefusal | UnblockRefusal): void;
  ended(end: BlockEnd, blocks: readonly SourceBlock[]): void;
  storeFault(cause: unknown): void;
  kernelFault(operation: KernelOperation, cause: unknown): void;
}

export interface SourceBlockView {
  readonly block: SourceBlock;
  readonly dryRun: boolean;
  /** Whether the block is in the kernel. */
  readonly isInstalled: boolean;
}

export type UnblockRefusal = "no_dataplane" | "not_blocked";
export type Refused<Refusal> = { readonly kind: "refused"; readonly refusal: Refusal };
export type Done = { readonly kind: "done"; readonly view: SourceBlockView };
export type BlockAnswer = Done | Refused<BlockRefusal>;
export type UnblockAnswer = Done | Refused<UnblockRefusal>;

/** The kernel refused an operator's change. The message describes the resulting state. */
export class InstallFault extends Error {
  override readonly name = "InstallFault";
}

export class SourceBlocks {
  readonly #observer: SourceBlockObserver;
  readonly #table = new BlockTable();
  readonly #kernel: KernelPairs;
  readonly #unsaved: UnsavedRecords<BlockChange>;
  #policy: SourceBlockPolicy;
  /** Blocks that were not checked against the new configuration yet. */
  #unreviewed: MapIterator<SourceBlock> | null = null;

  constructor({ policy, store, installer, observer, onUnsaved }: SourceBlocksOptions) {
    this.#observer = observer;
    this.#kernel = new KernelPairs({ installer, onFault: (...fault) => observer.kernelFault(...fault) });
    this.#unsaved = new UnsavedRecords({
      write: ({ pair, block }) => (block === null ? store.removeSourceBlock(pair) : store.saveSourceBlock(block)),
      atOnce: (writes) => store.atOnce(writes),
      onUnsaved,
      onStoreFault: (cause) => observer.storeFault(cause),
      pieceMax: SOURCE_BLOCKS_PER_PIECE,
    });
    this.#policy = this.#inForce(policy);
  }

  /** Restores stored blocks. Removes those that expired or that policy no longer allows, and installs the rest. */
  restore(blocks: readonly SourceBlock[], wallMs: number): void {
    for (const block of blocks.toSorted((a, b) => a.createdAt - b.createdAt)) this.#table.put(block);
    this.#shorten(wallMs);
    this.#expire(wallMs);
    this.#unreviewed = this.#table.values();
    while (this.#unreviewed !== null) this.#reviewSome();
    this.#wantAll();
  }

  /** The kernel filter was opened, with pairs of an earlier process or none: installs all pairs. */
  onKernelUp(): void {
    this.#kernel.reset();
    this.#wantAll();
  }

  /** Blocks a pair for an operator. Throws when the store fails, and an InstallFault when the kernel refuses. */
  block(request: BlockRequest, wallMs: number): BlockAnswer {
    this.#expire(wallMs);
    const existing = this.#table.get(request);
    const refusal = blockRefusal(request, this.#policy, {
      isBlocked: existing !== null,
      victims: this.#table.victims(request.source),
      pairs: this.#table.size,
    });
    if (refusal !== null) return this.#refused(refusal);
    const block = blockOf(request, existing, wallMs);
    this.#unsaved.writeNow([saved(block)]);
    this.#table.put(block);
    if (!this.#policy.dryRun) this.#install(block);
    const view = this.#view(block);
    this.#observer.blocked(view);
    return { kind: "done", view };
  }

  /**
   * Ends a block for an operator. Throws when the store fails, and an InstallFault when the kernel refuses: then the
   * block stays.
   */
  unblock(pair: Pair, wallMs: number): UnblockAnswer {
    this.#expire(wallMs);
    if (!this.#policy.hasDataplane) return this.#refused("no_dataplane");
    const block = this.#table.get(pair);
    if (block === null) {
      // The store may still hold a block that has just ended.
      if (this.#unsaved.has(pairName(pair))) this.#unsaved.writeNow([removed(pair)]);
      return this.#refused("not_blocked");
    }
    const view = this.#view(block);
    this.#unsaved.writeNow([removed(block)]);
    if (!this.#policy.dryRun) this.#uninstall(block);
    this.#table.delete(block);
    this.#observer.ended("unblocked", [block]);
    return { kind: "done", view };
  }

  /** Ends expired blocks and continues pending work. */
  tick(wallMs: number): void {
    this.#expire(wallMs);
    this.#reviewSome();
    this.#settle();
  }

  /** The wall clock was set by `byMs`. The kernel's clock and the remaining time of blocks do not change. */
  clockStepped(byMs: number): void {
    const blocks = this.#table.shift(byMs);
    for (const block of blocks) this.#kernel.updateMissing(block);
    this.#queue(blocks.map(saved));
  }

  /** A new configuration applies to requests at once, and to existing blocks in pieces. */
  reconfigure(next: SourceBlockPolicy, wallMs: number): void {
    this.#expire(wallMs);
    const before = this.#policy;
    this.#policy = this.#inForce(next);
    if (before.dryRun !== next.dryRun) {
      for (const block of this.#table.values()) {
        if (next.dryRun) this.#kernel.unwant(block);
        else this.#kernel.want(block);
      }
    }
    this.#unreviewed = this.#table.values();
    this.#reviewSome();
    this.#settle();
  }

  get size(): number {
    return this.#table.size;
  }

  /** Oldest first. May be iterated while blocks are added and removed. */
  *live(wallMs: number): Generator<SourceBlockView> {
    for (const block of this.#table.values()) if (isLive(block, wallMs)) yield this.#view(block);
  }

  counts(): {
    readonly virtual: number;
    readonly installed: number;
    readonly missing: number;
    readonly slotsFree: number;
  } {
    const { dryRun } = this.#policy;
    const { size } = this.#table;
    const { missing } = this.#kernel;
    const installed = dryRun || !this.#kernel.isUp ? 0 : size - missing;
    const virtual = dryRun ? size : 0;
    return { virtual, installed, missing: size - virtual - installed, slotsFree: slotsFree(this.#policy, size) };
  }

  /** Stores the automatic changes since the last call. When the write fails, all of them stay queued. */
  flush(): void {
    this.#unsaved.flush();
  }

  get unsaved(): number {
    return this.#unsaved.unsaved;
  }

  /** Without an installer, a configured data plane works only in dry run. */
  #inForce(policy: SourceBlockPolicy): SourceBlockPolicy {
    return { ...policy, hasDataplane: policy.hasDataplane && (policy.dryRun || this.#kernel.hasInstaller) };
  }

  #refused<Refusal extends BlockRefusal | UnblockRefusal>(refusal: Refusal): Refused<Refusal> {
    this.#observer.refused(refusal);
    return { kind: "refused", refusal };
  }

  /**
   * docs/interface.md#source-block-install-failure: if one pair of a source cannot be installed, all blocks of that
   * source are removed.
   */
  #install(block: SourceBlock): void {
    try {
      this.#kernel.put(block);
    } catch (cause) {
      this.#observer.kernelFault("put", cause);
      const lost = this.#table.ofSource(block.source);
      this.#writeOrQueue(lost.map(removed));
      for (const pair of lost) this.#drop(pair);
      this.#settle();
      this.#observer.ended("install_failed", lost);
      // Pairs in a filter that is not up are found when it is opened.
      const isGone = this.#kernel.isUp && lost.every((pair) => !this.#kernel.isUnwanted(pair));
      const rest = isGone ? "were removed" : "are being removed, the kernel may still drop packets for some";
      throw new InstallFault(`the kernel did not take the block: all blocks of ${block.source} ${rest}`, { cause });
    }
  }

  #uninstall(block: SourceBlock): void {
    try {
      this.#kernel.remove(block);
    } catch (cause) {
      this.#observer.kernelFault("remove", cause);
      this.#writeOrQueue([saved(block)]);
      throw new InstallFault("the kernel did not give up the block: it is still in force", { cause });
    }
  }

  #drop(pair: Pair): void {
    this.#table.delete(pair);
    this.#kernel.unwant(pair);
  }

  /** Reverts a stored change; if the store fails again, the change is queued. */
  #writeOrQueue(changes: readonly NamedChange[]): void {
    try {
      this.#unsaved.writeNow(changes);
    } catch {
      this.#queue(changes);
    }
  }

  #queue(changes: readonly NamedChange[]): void {
    for (const [name, change] of changes) this.#unsaved.queue(name, change);
  }

  #expire(wallMs: number): void {
    const expired = this.#table.takeExpired(wallMs);
    if (expired.length === 0) return;
    this.#forget("expired", expired);
    // Expired pairs still occupy the kernel's table.
    this.#settle();
  }

  /** Removes blocks from the table, and from kernel and store soon. */
  #forget(end: BlockEnd, blocks: readonly SourceBlock[]): void {
    if (blocks.length === 0) return;
    for (const block of blocks) this.#drop(block);
    this.#queue(blocks.map(removed));
    this.#observer.ended(end, blocks);
  }

  /** Limits the remaining time, which grows if the clock was set back while the service was stopped. */
  #shorten(wallMs: number): void {
    const latest = wallMs + SOURCE_BLOCK_SECONDS_MAX * 1000;
    const shortened = [...this.#table.values()]
      .filter(({ expiresAt }) => expiresAt > latest)
      .map((block) => ({ ...block, expiresAt: latest }));
    for (const block of shortened) this.#table.put(block);
    this.#queue(shortened.map(saved));
  }

  #reviewSome(): void {
    if (this.#unreviewed === null) return;
    const blocks = this.#unreviewed.take(SOURCE_BLOCKS_PER_PIECE).toArray();
    if (blocks.length < SOURCE_BLOCKS_PER_PIECE) this.#unreviewed = null;
    const refused = blocks.flatMap((block) => {
      const refusal = pairRefusal(block, this.#policy);
      return refusal === null ? [] : [{ block, refusal }];
    });
    for (const [refusal, items] of Map.groupBy(refused, (item) => item.refusal)) {
      this.#forget(
        refusal,
        items.map(({ block }) => block),
      );
    }
  }

  #wantAll(): void {
    if (!this.#policy.dryRun) for (const block of this.#table.values()) this.#kernel.want(block);
    let before: number;
    do {
      before = this.#kernel.missing;
      this.#settle();
    } while (this.#kernel.missing < before);
  }

  #settle(): void {
    const isWanted = (pair: Pair) => !this.#policy.dryRun && this.#table.get(pair) !== null;
    const room = this.#policy.maxDynamicRules - (this.#table.size - this.#kernel.missing);
    this.#kernel.settle(isWanted, room);
  }

  #view(block: SourceBlock): SourceBlockView {
    const { dryRun } = this.#policy;
    return { block, dryRun, isInstalled: !dryRun && this.#kernel.isUp && !this.#kernel.isMissing(block) };
  }
}

function saved(block: SourceBlock): NamedChange {
  return [pairName(block), { pair: block, block }];
}

function removed(pair: Pair): NamedChange {
  return [pairName(pair), { pair, block: null }];
}
