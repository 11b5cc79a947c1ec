/**
 * Owns the table of source blocks: operators add and remove them, time and policy end them
 * (docs/interface.md#source-block-states). A block is stored, then installed in the kernel, then the request is
 * answered; if the kernel refuses, it is removed again. The end of a block takes effect at once, whatever the disk does.
 * Dry run is decided here: then the kernel is not changed.
 */
import { ADMINISTRATOR, type Holder, type Room, Shares } from "../access/shares.ts";
import { SOURCE_BLOCK_SECONDS_MAX } from "../limits.ts";
import type { IpAddress } from "../net/address.ts";
import type { RecordTable } from "../system/record-table.ts";
import { type Commander, type OrderObserver, type OrderTimes, StandingOrders } from "../system/standing-orders.ts";
import type { Decision } from "../system/stored-order.ts";
import {
  type BlockRefusal,
  blockRefusal,
  PAIR_REFUSALS,
  pairRefusal,
  type SourceBlockPolicy,
  slotsFor,
  victimRefusal,
} from "./admission.ts";
import { BlockIndex } from "./block-index.ts";
import { type KernelOperation, KernelPairs, SOURCE_BLOCKS_PER_PIECE } from "./kernel-pairs.ts";
import type { PairInstaller } from "./pair-installer.ts";
import {
  type BlockRequest,
  blockOf,
  holderOf,
  isLive,
  nextHolder,
  type Pair,
  pairName,
  type SourceBlock,
} from "./source-block.ts";

export interface SourceBlocksOptions {
  readonly policy: SourceBlockPolicy;
  /** By pairName(). */
  readonly store: RecordTable<SourceBlock>;
  /** null: no data plane. */
  readonly installer: PairInstaller | null;
  /** The slots that callers fill, here and by chosen protections. Absent: here alone. */
  readonly slots?: Shares;
  /** Slots that filter rules take; absent: none. */
  readonly filterRuleSlots?: () => number;
  readonly observer: SourceBlockObserver;
}

/** How a block ended; a PairRefusal: a new configuration refuses it. */
export const BLOCK_ENDS = ["unblocked", "expired", "install_failed", ...PAIR_REFUSALS] as const;
export type BlockEnd = (typeof BLOCK_ENDS)[number];

export interface SourceBlockObserver extends OrderObserver<SourceBlock, BlockRefusal | UnblockRefusal, BlockEnd> {
  kernelFault(operation: KernelOperation, cause: unknown): void;
}

export interface SourceBlockView {
  readonly block: SourceBlock;
  readonly dryRun: boolean;
  /** Whether the block is in the kernel. */
  readonly isInstalled: boolean;
}

type UnblockRefusal = "no_dataplane" | "not_blocked";
type Refused<Refusal> = { readonly kind: "refused"; readonly refusal: Refusal };
/** `isSaved` false: it is in force, and the disk has not taken it yet. */
export type Done = { readonly kind: "done"; readonly view: SourceBlockView; readonly isSaved: boolean };
export type BlockAnswer = Done | Refused<BlockRefusal>;
export type UnblockAnswer = Done | Refused<UnblockRefusal>;

/** The kernel refused an operator's change. The message describes the resulting state. */
export class InstallFault extends Error {
  override readonly name = "InstallFault";
}

/** The block has ended, and may come back with a restart. */
export class UnsavedEndFault extends Error {
  override readonly name = "UnsavedEndFault";
}
const UNSAVED_END = "the block has ended already, but the disk has not taken that yet: a restart may bring it back";

const TIMES: OrderTimes<SourceBlock> = {
  endsAt: ({ expiresAt }) => expiresAt,
  endingAt: (block, expiresAt) => ({ ...block, expiresAt }),
  longestMs: () => SOURCE_BLOCK_SECONDS_MAX * 1000,
};

export class SourceBlocks {
  readonly #observer: SourceBlockObserver;
  readonly #orders: StandingOrders<SourceBlock, BlockRefusal | UnblockRefusal, BlockEnd>;
  readonly #index: BlockIndex;
  readonly #slots: Shares;
  readonly #filterRuleSlots: () => number;
  readonly #kernel: KernelPairs;
  readonly #store: RecordTable<SourceBlock>;
  #policy: SourceBlockPolicy;
  #clockSteps = 0;
  /** Blocks that were not checked against the new configuration yet. */
  #unreviewed: MapIterator<SourceBlock> | null = null;

  constructor({ policy, store, installer, observer, slots, filterRuleSlots }: SourceBlocksOptions) {
    this.#observer = observer;
    const callers = () => this.#policy.callers;
    this.#slots = slots ?? new Shares(callers);
    this.#index = new BlockIndex(callers, this.#slots);
    this.#orders = new StandingOrders({ store, keyOf: pairName, times: TIMES, observer, index: this.#index });
    this.#filterRuleSlots = filterRuleSlots ?? (() => 0);
    this.#kernel = new KernelPairs({ installer, onFault: (...fault) => observer.kernelFault(...fault) });
    this.#store = store;
    this.#policy = this.#inForce(policy);
  }

  /** Restores stored blocks. Removes those that expired or that policy no longer allows, and installs the rest. */
  restore(blocks: readonly SourceBlock[], wallMs: number): void {
    this.#orders.restore(blocks.toSorted((a, b) => a.createdAt - b.createdAt));
    this.#orders.shorten(wallMs);
    this.#expire(wallMs);
    this.#unreviewed = this.#orders.all.values();
    while (this.#unreviewed !== null) this.#reviewSome();
    this.#wantAll();
  }

  /** The kernel filter was opened, with pairs of an earlier process or none: installs all pairs. */
  onKernelUp(): void {
    this.#kernel.reset();
    this.#wantAll();
  }

  /**
   * Blocks a pair for an operator, once the block is on disk. Rejects when the store fails, and with an InstallFault when
   * the kernel refuses.
   */
  async block(request: BlockRequest, now: () => number): Promise<BlockAnswer> {
    const outcome = await this.#orders.place({
      decide: () => this.#decide(request, now()),
      takeEffect: async (block) => {
        if (!this.#policy.dryRun) await this.#install(block);
      },
    });
    if (outcome.kind === "refused") return outcome;
    return { kind: "done", view: this.#view(outcome.record), isSaved: outcome.isSaved };
  }

  #decide(request: BlockRequest, wallMs: number): Decision<SourceBlock, BlockRefusal> {
    this.#expire(wallMs);
    const refusal = this.refusalOf(request, request.by ?? ADMINISTRATOR);
    if (refusal !== null) return { kind: "refused", refusal };
    const existing = this.#index.get(request);
    const basis = [existing, this.#policy, this.#clockSteps];
    return { kind: "begins", key: pairName(request), record: blockOf(request, existing, wallMs), basis };
  }

  /** The refusal that block() would answer now; null: none. Changes nothing. */
  refusalOf(pair: Pair, by: Holder): BlockRefusal | null {
    const existing = this.#index.get(pair);
    return blockRefusal(pair, this.#policy, {
      isBlocked: existing !== null,
      victims: this.#index.victimsOverrun(pair.source, nextHolder(by, existing)),
      slots: this.#slots.refusal(nextHolder(by, existing), this.room),
    });
  }

  /** As above for a victim, whatever the source is. */
  refusalOfVictim(victim: IpAddress, by: Holder): BlockRefusal | null {
    if (!this.#policy.hasDataplane) return "no_dataplane";
    const slots = this.#slots.refusal(by, this.room);
    return (
      victimRefusal(victim, this.#policy) ??
      (slots === null ? null : slots === "full" ? "no_slots" : "slots_over_share")
    );
  }

  /** Ends a block for an operator. Rejects with an InstallFault when the kernel refuses: then the block stays. */
  async unblock(pair: Pair, wallMs: number, by?: Commander): Promise<UnblockAnswer> {
    this.#expire(wallMs);
    if (!this.#policy.hasDataplane) return this.#refused("no_dataplane");
    const block = this.#index.get(pair);
    if (block === null) {
      // The file may still have a block that has just ended.
      if (!(await this.#store.save(pairName(pair), null))) throw new UnsavedEndFault(UNSAVED_END);
      return this.#refused("not_blocked");
    }
    const view = this.#view(block);
    if (!this.#policy.dryRun) this.#uninstall(block);
    return { kind: "done", view, isSaved: await this.#orders.endSaved("unblocked", [block], by) };
  }

  /** The block in force; null: none. @param name that of its pair. */
  present(name: string): SourceBlock | null {
    return this.#orders.get(name);
  }

  /** The block of another brain, in place of the one of its pair. Returns null, or why it cannot be in force here. */
  adopt(block: SourceBlock, wallMs: number): BlockRefusal | null {
    this.#expire(wallMs);
    const refusal = this.refusalOf(block, holderOf(block));
    if (refusal !== null) return refusal;
    this.#orders.adopt(block);
    if (!this.#policy.dryRun) this.#kernel.want(block);
    this.#settle();
    return null;
  }

  /** Another brain has ended it. */
  endAdopted(block: SourceBlock): void {
    this.#kernel.unwant(block);
    this.#orders.end("unblocked", [block]);
    this.#settle();
  }

  /** Ends expired blocks and continues pending work. */
  tick(wallMs: number): void {
    this.#expire(wallMs);
    this.#reviewSome();
    this.#settle();
  }

  /** The wall clock was set by `byMs`. The kernel's clock and the remaining time of blocks do not change. */
  clockStepped(byMs: number): void {
    this.#clockSteps++;
    for (const block of this.#orders.shift(byMs)) this.#kernel.updateMissing(block);
  }

  /** A new configuration applies to requests at once, and to existing blocks in pieces. */
  reconfigure(next: SourceBlockPolicy, wallMs: number): void {
    this.#expire(wallMs);
    const before = this.#policy;
    this.#policy = this.#inForce(next);
    if (before.dryRun !== next.dryRun) {
      for (const block of this.#orders.all.values()) {
        if (next.dryRun) this.#kernel.unwant(block);
        else this.#kernel.want(block);
      }
    }
    this.#unreviewed = this.#orders.all.values();
    this.#reviewSome();
    this.#settle();
  }

  get isDryRun(): boolean {
    return this.#policy.dryRun;
  }

  get size(): number {
    return this.#orders.all.size;
  }

  /** The room of the slots that callers fill. */
  get room(): Room {
    return { capacity: slotsFor(this.#policy, this.#filterRuleSlots()) };
  }

  /** Oldest first. May be iterated while blocks are added and removed. */
  *live(wallMs: number): Generator<SourceBlockView> {
    for (const block of this.#orders.all.values()) if (isLive(block, wallMs)) yield this.#view(block);
  }

  counts(): {
    readonly virtual: number;
    readonly installed: number;
    readonly missing: number;
    readonly slotsFree: number;
  } {
    const { dryRun } = this.#policy;
    const { size } = this.#orders.all;
    const { missing } = this.#kernel;
    const installed = dryRun || !this.#kernel.isUp ? 0 : size - missing;
    const virtual = dryRun ? size : 0;
    const free = Math.max(0, this.room.capacity - this.#slots.total);
    return { virtual, installed, missing: size - virtual - installed, slotsFree: free };
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
  async #install(block: SourceBlock): Promise<void> {
    try {
      this.#kernel.put(block);
    } catch (cause) {
      this.#observer.kernelFault("put", cause);
      const lost = this.#index.ofSource(block.source);
      for (const pair of lost) this.#kernel.unwant(pair);
      const removals = this.#orders.endHere("install_failed", lost);
      this.#settle();
      // Pairs in a filter that is not up are found when it is opened.
      const isGone = this.#kernel.isUp && lost.every((pair) => !this.#kernel.isUnwanted(pair));
      const rest = isGone ? "were removed" : "are being removed, the kernel may still drop packets for some";
      await removals;
      throw new InstallFault(`the kernel did not take the block: all blocks of ${block.source} ${rest}`, { cause });
    }
  }

  #uninstall(block: SourceBlock): void {
    try {
      this.#kernel.remove(block);
    } catch (cause) {
      this.#observer.kernelFault("remove", cause);
      throw new InstallFault("the kernel did not give up the block: it is still in force", { cause });
    }
  }

  #expire(wallMs: number): void {
    const expired = this.#orders.expire("expired", wallMs);
    if (expired.length === 0) return;
    for (const block of expired) this.#kernel.unwant(block);
    // Expired pairs still occupy the kernel's table.
    this.#settle();
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
      const ended = items.map(({ block }) => block);
      for (const block of ended) this.#kernel.unwant(block);
      this.#orders.end(refusal, ended);
    }
  }

  #wantAll(): void {
    if (!this.#policy.dryRun) for (const block of this.#orders.all.values()) this.#kernel.want(block);
    let before: number;
    do {
      before = this.#kernel.missing;
      this.#settle();
    } while (this.#kernel.missing < before);
  }

  #settle(): void {
    const isWanted = (pair: Pair) => !this.#policy.dryRun && this.#index.get(pair) !== null;
    const room = this.#policy.maxDynamicRules - (this.#orders.all.size - this.#kernel.missing);
    this.#kernel.settle(isWanted, room);
  }

  #view(block: SourceBlock): SourceBlockView {
    const { dryRun } = this.#policy;
    return { block, dryRun, isInstalled: !dryRun && this.#kernel.isUp && !this.#kernel.isMissing(block) };
  }
}
