/** The source blocks in memory, by pair, with the victims of each source, and in whose shares they are. */
import { type Callers, type Holder, type Overrun, Shares } from "../access/shares.ts";
import { VICTIMS_PER_SOURCE } from "../limits.ts";
import type { IpAddress } from "../net/address.ts";
import { holderOf, isLive, type Pair, pairName, type SourceBlock } from "./source-block.ts";

export class BlockTable {
  readonly #blocks = new Map<string, SourceBlock>();
  readonly #bySource = new Map<IpAddress, Map<IpAddress, SourceBlock>>();
  /** A lower bound of the next expiry. Wall clock, ms. */
  #nextExpiry = Number.POSITIVE_INFINITY;
  readonly #callers: () => Callers;
  /** The callers' shares of rules in the kernel. */
  readonly #rules: Shares;

  constructor(callers: () => Callers, rules: Shares) {
    this.#callers = callers;
    this.#rules = rules;
  }

  get size(): number {
    return this.#blocks.size;
  }

  get(pair: Pair): SourceBlock | null {
    return this.#bySource.get(pair.source)?.get(pair.victim) ?? null;
  }

  /** May be iterated while blocks are added and removed. */
  values(): MapIterator<SourceBlock> {
    return this.#blocks.values();
  }

  ofSource(source: IpAddress): SourceBlock[] {
    return [...(this.#bySource.get(source)?.values() ?? [])];
  }

  victims(source: IpAddress): number {
    return this.#bySource.get(source)?.size ?? 0;
  }

  /** Whether a further victim of the source is within the caller's share of them. */
  victimsOverrun(source: IpAddress, by: Holder): Overrun | null {
    const victims = new Shares(this.#callers);
    for (const block of this.ofSource(source)) victims.take(holderOf(block));
    return victims.refusal(by, { capacity: VICTIMS_PER_SOURCE });
  }

  put(block: SourceBlock): void {
    const before = this.get(block);
    if (before !== null) this.#rules.giveBack(holderOf(before));
    this.#rules.take(holderOf(block));
    this.#blocks.set(pairName(block), block);
    const victims = this.#bySource.get(block.source) ?? new Map<IpAddress, SourceBlock>();
    this.#bySource.set(block.source, victims.set(block.victim, block));
    this.#nextExpiry = Math.min(this.#nextExpiry, block.expiresAt);
  }

  delete(pair: Pair): void {
    const block = this.get(pair);
    if (block === null) return;
    this.#rules.giveBack(holderOf(block));
    this.#blocks.delete(pairName(pair));
    const victims = this.#bySource.get(pair.source);
    victims?.delete(pair.victim);
    if (victims?.size === 0) this.#bySource.delete(pair.source);
  }

  /** Removes the expired blocks and returns them. */
  takeExpired(wallMs: number): SourceBlock[] {
    if (wallMs < this.#nextExpiry) return [];
    const expired: SourceBlock[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const block of this.#blocks.values()) {
      if (isLive(block, wallMs)) next = Math.min(next, block.expiresAt);
      else expired.push(block);
    }
    for (const block of expired) this.delete(block);
    this.#nextExpiry = next;
    return expired;
  }

  /** Shifts all expiries. Returns the changed blocks. */
  shift(byMs: number): SourceBlock[] {
    const shifted = [...this.#blocks.values()].map((block) => ({ ...block, expiresAt: block.expiresAt + byMs }));
    this.#nextExpiry += byMs;
    for (const block of shifted) this.put(block);
    return shifted;
  }
}
