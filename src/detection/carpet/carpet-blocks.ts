/** Prefixes within one network and hostgroup, and the extent of attacks on neighboring prefixes. Pure. */
import { PREFIXES_MAX } from "../../limits.ts";
import { addressToBytes, type IpAddress } from "../../net/address.ts";
import type { Prefix } from "../../net/prefix.ts";
import { firstBits, knownBits } from "./carpet-scan.ts";

export interface Block {
  readonly group: number;
  readonly network: number;
  readonly isIpv4: boolean;
  readonly length: number;
  /** The first bits of its addresses, as in a leaf. */
  readonly bits: number;
  readonly anyHost: IpAddress;
}

/** Identifies one hostgroup in one network. */
type Place = number;

/** Sorted bits of leaves. */
export type Places = ReadonlyMap<Place, Float64Array>;

export function placeOf({ group, network }: Pick<Block, "group" | "network">): Place {
  return group * PREFIXES_MAX + network;
}

export function blockOf({ address, length, family }: Prefix, place: Pick<Block, "group" | "network">): Block {
  const isIpv4 = family === 4;
  return { ...place, isIpv4, length, bits: firstBits(addressToBytes(address), 0, isIpv4, length), anyHost: address };
}

/** A block contains itself. */
export function containsBlock(outer: Block, inner: Block): boolean {
  if (outer.group !== inner.group || outer.network !== inner.network || outer.length > inner.length) return false;
  return Math.floor(inner.bits / 2 ** (knownBits(inner) - knownBits(outer))) === outer.bits;
}

export interface Reach {
  /** Leaves above the thresholds. */
  readonly over: Places;
  /** Prefix length of leaves in the block's place. */
  readonly leafLength: number;
  /** The shortest prefix length of a block. */
  readonly shortest: number;
  /** Whether an attack may have this block; if not, no wider one may either. */
  readonly isPossible: (block: Block) => boolean;
}

/**
 * The widest block around this one in which at least half of the leaves, and at least one more, are above the
 * thresholds. The result is the same from any of its leaves.
 */
export function widestBlock(block: Block, { over, leafLength, shortest, isPossible }: Reach): Block {
  const places = over.get(placeOf(block));
  // A network smaller than a leaf, or an attack with leaves of another size.
  if (places === undefined || block.length > knownBits({ isIpv4: block.isIpv4, length: leafLength })) return block;
  let widest = block;
  let { bits } = block;
  for (let length = block.length - 1; length >= shortest; length--) {
    const half = 2 ** (knownBits({ isIpv4: block.isIpv4, length: leafLength }) - length - 1);
    const beside = bits % 2 === 0 ? bits + 1 : bits - 1;
    bits = Math.floor(bits / 2);
    if (countBetween(places, beside * half, (beside + 1) * half) === 0) continue;
    if (countBetween(places, bits * 2 * half, (bits + 1) * 2 * half) < half) continue;
    const wider = { ...block, length, bits };
    if (!isPossible(wider)) break;
    widest = wider;
  }
  return widest;
}

/** Number of values v with `from` <= v < `to`. */
function countBetween(sorted: Float64Array, from: number, to: number): number {
  return firstAtLeast(sorted, to) - firstAtLeast(sorted, from);
}

function firstAtLeast(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Finds the blocks that contain a leaf, with one lookup for each block length. */
export class BlockIndex<Value> {
  /** By place, by known bits, by bits. */
  readonly #places = new Map<Place, Map<number, Map<number, Value>>>();

  add(block: Block, value: Value): void {
    const lengths = getOrAdd(this.#places, placeOf(block), () => new Map<number, Map<number, Value>>());
    getOrAdd(lengths, knownBits(block), () => new Map<number, Value>()).set(block.bits, value);
  }

  /** Calls `found` with the value of each block that contains the leaf. */
  visit(leaf: Block, found: (value: Value) => void): void {
    const lengths = this.#places.get(placeOf(leaf));
    if (lengths === undefined) return;
    const known = knownBits(leaf);
    for (const [length, blocks] of lengths) {
      const value = length > known ? undefined : blocks.get(Math.floor(leaf.bits / 2 ** (known - length)));
      if (value !== undefined) found(value);
    }
  }

  has(leaf: Block): boolean {
    let isFound = false;
    this.visit(leaf, () => {
      isFound = true;
    });
    return isFound;
  }
}

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
