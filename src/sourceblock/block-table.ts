/** The source blocks in memory, by pair, and how many victims each source is blocked for. */
import type { IpAddress } from "../net/address.ts";
import { isLive, type Pair, pairName, type SourceBlock } from "./source-block.ts";

export class BlockTable {
  readonly #blocks = new Map<string, SourceBlock>();
  readonly #bySource = new Map<IpAddress, Map<IpAddress, SourceBlock>>();
  /** No block lapses before; it may be that none lapses then either. Wall clock, ms. */
  #nextLapse = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#blocks.size;
  }

  get(pair: Pair): SourceBlock | null {
    return this.#bySource.get(pair.source)?.get(pair.victim) ?? null;
  }

  /** May be walked through while blocks come and go. */
  values(): MapIterator<SourceBlock> {
    return this.#blocks.values();
  }

  ofSource(source: IpAddress): SourceBlock[] {
    return [...(this.#bySource.get(source)?.values() ?? [])];
  }

  victims(source: IpAddress): number {
    return this.#bySource.get(source)?.size ?? 0;
  }

  put(block: SourceBlock): void {
    this.#blocks.set(pairName(block), block);
    const victims = this.#bySource.get(block.source) ?? new Map<IpAddress, SourceBlock>();
    this.#bySource.set(block.source, victims.set(block.victim, block));
    this.#nextLapse = Math.min(this.#nextLapse, block.expiresAt);
  }

  delete(pair: Pair): void {
    this.#blocks.delete(pairName(pair));
    const victims = this.#bySource.get(pair.source);
    victims?.delete(pair.victim);
    if (victims?.size === 0) this.#bySource.delete(pair.source);
  }

  /** Takes out those whose time is over. */
  takeLapsed(wallMs: number): SourceBlock[] {
    if (wallMs < this.#nextLapse) return [];
    const lapsed: SourceBlock[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const block of this.#blocks.values()) {
      if (isLive(block, wallMs)) next = Math.min(next, block.expiresAt);
      else lapsed.push(block);
    }
    for (const block of lapsed) this.delete(block);
    this.#nextLapse = next;
    return lapsed;
  }

  /** All expiries move. Returns the blocks as they are now. */
  shift(byMs: number): SourceBlock[] {
    const shifted = [...this.#blocks.values()].map((block) => ({ ...block, expiresAt: block.expiresAt + byMs }));
    this.#nextLapse += byMs;
    for (const block of shifted) this.put(block);
    return shifted;
  }
}
