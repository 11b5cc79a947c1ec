/**
 * Owns the table of source blocks: operators order and end them, time and policy end them too
 * (docs/interface.md#source-block-states). An order is in the store before it is in the kernel, and in both before it
 * is answered; one that the kernel refuses is taken back. Dry run is decided here: then nothing is put into the kernel.
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
import { type BlockOrder, blockOf, isLive, type Pair, pairName, type SourceBlock } from "./source-block.ts";

/** Where blocks survive the process. */
export interface SourceBlockStore {
  saveSourceBlock(block: SourceBlock): void;
  removeSourceBlock(pair: Pair): void;
  /** Returns when all that `writes` did is on disk, or throws and none of it is. */
  atOnce(writes: () => void): void;
}

/** null: it is over, and its row is to be removed. */
interface BlockChange {
  readonly pair: Pair;
  readonly block: SourceBlock | null;
}

type NamedChange = readonly [name: string, change: BlockChange];

export interface SourceBlocksOptions {
  readonly policy: SourceBlockPolicy;
  readonly store: SourceBlockStore;
  /** null: there is no data plane. */
  readonly installer: PairInstaller | null;
  readonly observer: SourceBlockObserver;
  /** A change waits for flush(), which is due in some milliseconds. */
  readonly onUnsaved: () => void;
}

/** How a block ended; a PairRefusal is that of a new configuration. */
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
  /** In the kernel. */
  readonly isInstalled: boolean;
}

export type UnblockRefusal = "no_dataplane" | "not_blocked";
export type Refused<Refusal> = { readonly kind: "refused"; readonly refusal: Refusal };
export type Done = { readonly kind: "done"; readonly view: SourceBlockView };
export type BlockAnswer = Done | Refused<BlockRefusal>;
export type UnblockAnswer = Done | Refused<UnblockRefusal>;

/** The kernel failed an order. The message says what holds now. */
export class InstallFault extends Error {
  override readonly name = "InstallFault";
}

export class SourceBlocks {
  readonly #observer: SourceBlockObserver;
  readonly #table = new BlockTable();
  readonly #kernel: KernelPairs;
  readonly #unsaved: UnsavedRecords<BlockChange>;
  #policy: SourceBlockPolicy;
  /** Those that a new configuration has not been held against yet. */
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

  /** What the store had. Forgets what has lapsed and what policy no longer allows, and brings the kernel to the rest. */
  restore(blocks: readonly SourceBlock[], wallMs: number): void {
    for (const block of blocks.toSorted((a, b) => a.createdAt - b.createdAt)) this.#table.put(block);
    this.#shorten(wallMs);
    this.#lapse(wallMs);
    this.#unreviewed = this.#table.values();
    while (this.#unreviewed !== null) this.#reviewSome();
    this.#wantAll();
  }

  /** The kernel is up, and what it holds is of an earlier process or nothing: all pairs are put there now. */
  kernelCame(): void {
    this.#kernel.beginAnew();
    this.#wantAll();
  }

  /** By an operator. Throws when it could not be stored, and an InstallFault when the kernel did not take it. */
  block(order: BlockOrder, wallMs: number): BlockAnswer {
    this.#lapse(wallMs);
    const existing = this.#table.get(order);
    const refusal = blockRefusal(order, this.#policy, {
      isBlocked: existing !== null,
      victims: this.#table.victims(order.source),
      pairs: this.#table.size,
    });
    if (refusal !== null) return this.#refused(refusal);
    const block = blockOf(order, existing, wallMs);
    this.#unsaved.now([saved(block)]);
    this.#table.put(block);
    if (!this.#policy.dryRun) this.#install(block);
    const view = this.#view(block);
    this.#observer.blocked(view);
    return { kind: "done", view };
  }

  /** By an operator. Throws when it could not be stored, and an InstallFault when the kernel kept it: then it stays. */
  unblock(pair: Pair, wallMs: number): UnblockAnswer {
    this.#lapse(wallMs);
    if (!this.#policy.hasDataplane) return this.#refused("no_dataplane");
    const block = this.#table.get(pair);
    if (block === null) {
      // One that ended a moment ago by itself may be in the store still.
      if (this.#unsaved.has(pairName(pair))) this.#unsaved.now([removed(pair)]);
      return this.#refused("not_blocked");
    }
    const view = this.#view(block);
    this.#unsaved.now([removed(block)]);
    if (!this.#policy.dryRun) this.#uninstall(block);
    this.#table.delete(block);
    this.#observer.ended("unblocked", [block]);
    return { kind: "done", view };
  }

  /** Ends what has lapsed, and goes on with what was left to do. */
  tick(wallMs: number): void {
    this.#lapse(wallMs);
    this.#reviewSome();
    this.#settle();
  }

  /** The wall clock was set by so much. The kernel's time was not, nor is the time that a block has left. */
  clockStepped(byMs: number): void {
    const blocks = this.#table.shift(byMs);
    for (const block of blocks) this.#kernel.updateMissing(block);
    this.#soon(blocks.map(saved));
  }

  /** A new configuration holds for orders at once, and for blocks in force piece by piece where there are very many. */
  reconfigure(next: SourceBlockPolicy, wallMs: number): void {
    this.#lapse(wallMs);
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

  /** Oldest first. May be read while blocks come and go. */
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

  /** Stores what ended by itself since the last time; all of it waits on when the write fails. */
  flush(): void {
    this.#unsaved.flush();
  }

  get unsaved(): number {
    return this.#unsaved.unsaved;
  }

  /** Without the kernel's side a configured data plane can only be tried dry. */
  #inForce(policy: SourceBlockPolicy): SourceBlockPolicy {
    return { ...policy, hasDataplane: policy.hasDataplane && (policy.dryRun || this.#kernel.isThere) };
  }

  #refused<Refusal extends BlockRefusal | UnblockRefusal>(refusal: Refusal): Refused<Refusal> {
    this.#observer.refused(refusal);
    return { kind: "refused", refusal };
  }

  /**
   * docs/interface.md#source-block-install-failure: when one pair of a source cannot be installed, none of that source
   * stays.
   */
  #install(block: SourceBlock): void {
    try {
      this.#kernel.put(block);
    } catch (cause) {
      this.#observer.kernelFault("put", cause);
      const lost = this.#table.ofSource(block.source);
      this.#nowOrSoon(lost.map(removed));
      for (const pair of lost) this.#drop(pair);
      this.#settle();
      this.#observer.ended("install_failed", lost);
      // What one that cannot be had holds of an earlier process is seen when it comes.
      const isGone = this.#kernel.isUp && lost.every((pair) => !this.#kernel.isStray(pair));
      const rest = isGone ? "were removed" : "are being removed, the kernel may still drop packets for some";
      throw new InstallFault(`the kernel did not take the block: all blocks of ${block.source} ${rest}`, { cause });
    }
  }

  #uninstall(block: SourceBlock): void {
    try {
      this.#kernel.remove(block);
    } catch (cause) {
      this.#observer.kernelFault("remove", cause);
      this.#nowOrSoon([saved(block)]);
      throw new InstallFault("the kernel did not give up the block: it is still in force", { cause });
    }
  }

  #drop(pair: Pair): void {
    this.#table.delete(pair);
    this.#kernel.unwant(pair);
  }

  /** To take back what was stored a moment ago: where the store refuses that as well, it is tried again. */
  #nowOrSoon(changes: readonly NamedChange[]): void {
    try {
      this.#unsaved.now(changes);
    } catch {
      this.#soon(changes);
    }
  }

  #soon(changes: readonly NamedChange[]): void {
    for (const [name, change] of changes) this.#unsaved.soon(name, change);
  }

  #lapse(wallMs: number): void {
    const lapsed = this.#table.takeLapsed(wallMs);
    if (lapsed.length === 0) return;
    this.#forget("expired", lapsed);
    // Lapsed pairs still fill the kernel's table.
    this.#settle();
  }

  /** Already out of the table, or to be taken out: of kernel and store soon. */
  #forget(end: BlockEnd, blocks: readonly SourceBlock[]): void {
    if (blocks.length === 0) return;
    for (const block of blocks) this.#drop(block);
    this.#soon(blocks.map(removed));
    this.#observer.ended(end, blocks);
  }

  /** Where the clock was set back while nobody ran, a block would hold for as much longer. */
  #shorten(wallMs: number): void {
    const latest = wallMs + SOURCE_BLOCK_SECONDS_MAX * 1000;
    const shortened = [...this.#table.values()]
      .filter(({ expiresAt }) => expiresAt > latest)
      .map((block) => ({ ...block, expiresAt: latest }));
    for (const block of shortened) this.#table.put(block);
    this.#soon(shortened.map(saved));
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
