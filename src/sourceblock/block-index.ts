/** The source blocks in force by source and victim, and in whose shares they are. */
import { type Callers, type Holder, type Overrun, Shares } from "../access/shares.ts";
import { VICTIMS_PER_SOURCE } from "../limits.ts";
import type { IpAddress } from "../net/address.ts";
import type { OrderIndex } from "../system/standing-orders.ts";
import { holderOf, type Pair, type SourceBlock } from "./source-block.ts";

export class BlockIndex implements OrderIndex<SourceBlock> {
  readonly #bySource = new Map<IpAddress, Map<IpAddress, SourceBlock>>();
  readonly #callers: () => Callers;
  /** The shares of rules in the kernel. */
  readonly #rules: Shares;

  constructor(callers: () => Callers, rules: Shares) {
    this.#callers = callers;
    this.#rules = rules;
  }

  get(pair: Pair): SourceBlock | null {
    return this.#bySource.get(pair.source)?.get(pair.victim) ?? null;
  }

  ofSource(source: IpAddress): SourceBlock[] {
    return [...(this.#bySource.get(source)?.values() ?? [])];
  }

  /** Whether a further victim of the source is within the caller's share of them. */
  victimsOverrun(source: IpAddress, by: Holder): Overrun | null {
    const victims = new Shares(this.#callers);
    for (const block of this.ofSource(source)) victims.take(holderOf(block));
    return victims.refusal(by, { capacity: VICTIMS_PER_SOURCE });
  }

  put(block: SourceBlock, before: SourceBlock | null): void {
    if (before !== null) this.#rules.giveBack(holderOf(before));
    this.#rules.take(holderOf(block));
    const victims = this.#bySource.get(block.source) ?? new Map<IpAddress, SourceBlock>();
    this.#bySource.set(block.source, victims.set(block.victim, block));
  }

  remove(block: SourceBlock): void {
    this.#rules.giveBack(holderOf(block));
    const victims = this.#bySource.get(block.source);
    victims?.delete(block.victim);
    if (victims?.size === 0) this.#bySource.delete(block.source);
  }
}
