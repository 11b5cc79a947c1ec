/** Prefixes within one network and hostgroup, and how far those that are attacked side by side reach. Pure. */
import { PREFIXES_MAX } from "../../limits.ts";
import { addressToBytes, type IpAddress } from "../../net/address.ts";
import type { Prefix } from "../../net/prefix.ts";
import { firstBits, knownBits } from "./carpet-scan.ts";

export interface Block {
  readonly group: number;
  readonly network: number;
  readonly isIpv4: boolean;
  readonly length: number;
  /** The first bits of its addresses, as a leaf has them. */
  readonly bits: number;
  readonly anyHost: IpAddress;
}

/** Of one hostgroup in one network. */
type Place = number;

/** Bits of leaves, in order. */
export type Places = ReadonlyMap<Place, Float64Array>;

export function placeOf({ group, network }: Pick<Block, "group" | "network">): Place {
  return group * PREFIXES_MAX + network;
}

export function blockOf({ address, length, family }: Prefix, place: Pick<Block, "group" | "network">): Block {
  const isIpv4 = family === 4;
  return { ...place, isIpv4, length, bits: firstBits(addressToBytes(address), 0, isIpv4, length), anyHost: address };
}

/** A block holds itself too. */
export function holdsBlock(outer: Block, inner: Block): boolean {
  if (outer.group !== inner.group || outer.network !== inner.network || outer.length > inner.length) return false;
  return Math.floor(inner.bits / 2 ** (knownBits(inner) - knownBits(outer))) === outer.bits;
}

export interface Reach {
  /** Leaves that are over the thresholds. */
  readonly over: Places;
  /** Length of a leaf of the block's place. */
  readonly leafLength: number;
  /** No block is wider. */
  readonly shortest: number;
  /** Whether there may be an attack as wide; if not, neither may one that is wider still. */
  readonly mayBe: (block: Block) => boolean;
}

/**
 * The widest block around this one that something else in it is over the thresholds of as well, with at least half of its
 * leaves. From whichever of its leaves one begins, one comes to the same.
 */
export function widened(block: Block, { over, leafLength, shortest, mayBe }: Reach): Block {
  const places = over.get(placeOf(block));
  // A network of its own, or an attack by leaves of another size.
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
    if (!mayBe(wider)) break;
    widest = wider;
  }
  return widest;
}

/** How many are at least `from` and below `to`. */
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

/** Finds the blocks that a leaf lies in by one lookup for each of their lengths. */
export class BlockIndex<Value> {
  /** By place, by known bits, by bits. */
  readonly #places = new Map<Place, Map<number, Map<number, Value>>>();

  add(block: Block, value: Value): void {
    const lengths = getOrAdd(this.#places, placeOf(block), () => new Map<number, Map<number, Value>>());
    getOrAdd(lengths, knownBits(block), () => new Map<number, Value>()).set(block.bits, value);
  }

  /** What was added with each block that holds the leaf. */
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
