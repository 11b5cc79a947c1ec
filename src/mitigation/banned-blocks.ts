/** The prefixes of bans by the block that they lie in, so that those within a wider prefix are found without a look at all. */
import { enclosingPrefix, type Prefix, prefixMatcher } from "../net/prefix.ts";

interface Banned {
  readonly prefix: Prefix;
  readonly addresses: number;
}

/** Prefixes that are announced for narrower ones are seldom wider than these. */
const BLOCK_LENGTHS = { 4: 24, 6: 48 } as const;

export class BannedBlocks {
  /** By block, then by prefix. Wider prefixes are blocks of their own. */
  readonly #blocks = new Map<string, Map<string, Banned>>();

  add(prefix: Prefix, addresses: number): void {
    const block = blockOf(prefix).text;
    const banned = this.#blocks.get(block) ?? new Map<string, Banned>();
    this.#blocks.set(block, banned.set(prefix.text, { prefix, addresses }));
  }

  remove(prefix: Prefix): void {
    const block = blockOf(prefix).text;
    const banned = this.#blocks.get(block);
    banned?.delete(prefix.text);
    if (banned?.size === 0) this.#blocks.delete(block);
  }

  /** The sum of the addresses of the prefixes in this one, and of itself, of those that count. */
  addressesIn(wider: Prefix, counts: (prefix: Prefix) => boolean): number {
    const isIn = prefixMatcher(wider);
    let sum = 0;
    for (const block of this.#blocksOf(wider)) {
      for (const { prefix, addresses } of block.values()) {
        if (prefix.length >= wider.length && isIn(prefix.address) && counts(prefix)) sum += addresses;
      }
    }
    return sum;
  }

  #blocksOf(wider: Prefix): Iterable<ReadonlyMap<string, Banned>> {
    if (wider.length < BLOCK_LENGTHS[wider.family]) return this.#blocks.values();
    const block = this.#blocks.get(blockOf(wider).text);
    return block === undefined ? [] : [block];
  }
}

function blockOf(prefix: Prefix): Prefix {
  const length = BLOCK_LENGTHS[prefix.family];
  return prefix.length <= length ? prefix : enclosingPrefix(prefix.address, length);
}
