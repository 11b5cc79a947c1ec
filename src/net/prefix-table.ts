/**
 * Longest-prefix match over many prefixes: one hash lookup for each length in use, longest first. Flat arrays, so that
 * another thread can use a table without copying.
 */
import { ADDRESS_BYTES, addressFamily, addressToBytes, type IpAddress, MAPPED_BITS, writeAddress } from "./address.ts";
import { clearHostBits, mappedLength, type Prefix } from "./prefix.ts";

/** Lengths refer to the 128-bit form. */
export interface PackedPrefixes {
  /** 16 bytes per row, IPv4 in its mapped form. */
  readonly addresses: Uint8Array<ArrayBuffer>;
  readonly lengths: Uint8Array<ArrayBuffer>;
  /** The lengths in use, longest first. */
  readonly lengthsInUse: Uint8Array<ArrayBuffer>;
  /** Open addressing: row + 1, or 0 for a free slot. The size is a power of two; at most half is used. */
  readonly slots: Uint32Array<ArrayBuffer>;
}

const WORDS = ADDRESS_BYTES / 4;
type FourWords = readonly [number, number, number, number];

export class PrefixTable {
  readonly #packed: PackedPrefixes;
  readonly #words: Uint32Array;
  /** Signed view of the same memory, since the result of `&` is signed. */
  readonly #signedWords: Int32Array;
  /** The address that is looked up: thousands a tick, none of which needs memory of its own. */
  readonly #sought = new Uint8Array(ADDRESS_BYTES);
  readonly #soughtWords = wordsOf(this.#sought);

  constructor(packed: PackedPrefixes) {
    this.#packed = packed;
    this.#words = wordsOf(packed.addresses);
    this.#signedWords = signedWords(packed.addresses);
  }

  /** Row i is prefix i. If prefixes are equal, the last one wins. */
  static of(prefixes: readonly Prefix[]): PrefixTable {
    const addresses = new Uint8Array(prefixes.length * ADDRESS_BYTES);
    for (const [row, prefix] of prefixes.entries()) addresses.set(addressToBytes(prefix.address), row * ADDRESS_BYTES);
    const lengths = Uint8Array.from(prefixes, mappedLength);
    const slots = new Uint32Array(2 ** Math.ceil(Math.log2(2 * prefixes.length + 2)));
    const lengthsInUse = Uint8Array.from(new Set(lengths)).sort().reverse();
    const table = new PrefixTable({ addresses, lengths, lengthsInUse, slots });
    for (const [row, length] of lengths.entries()) slots[table.#slotOf(table.#words, row * WORDS, length)] = row + 1;
    return table;
  }

  /** The internal arrays: do not change them. */
  get packed(): PackedPrefixes {
    return this.#packed;
  }

  /** The row of the longest prefix that contains `ip`; -1: none. */
  find(ip: IpAddress): number {
    return this.#find(ip, 8 * ADDRESS_BYTES);
  }

  /** The row of the longest prefix that contains all of `prefix`, or is the same; -1: none. */
  findAround(prefix: Prefix): number {
    return this.#find(prefix.address, mappedLength(prefix));
  }

  #find(ip: IpAddress, longest: number): number {
    const { lengthsInUse, slots } = this.#packed;
    const bytes = this.#sought.fill(0);
    const words = this.#soughtWords;
    writeAddress(ip, bytes);
    // Otherwise ::/0 would contain every IPv4 address in its mapped form.
    const shortest = addressFamily(ip) === 4 ? MAPPED_BITS : 0;
    for (const length of lengthsInUse) {
      if (length > longest) continue;
      if (length < shortest) break;
      clearHostBits(bytes, length);
      const entry = slots[this.#slotOf(words, 0, length)] as number;
      if (entry > 0) return entry - 1;
    }
    return -1;
  }

  /** Whether one of them contains the prefix or a part of it. */
  overlaps(prefix: Prefix): boolean {
    return this.find(prefix.address) >= 0 || this.someIn(prefix, () => true);
  }

  /**
   * Whether `isIt` is true for a row whose prefix starts within the given one. Scans all rows: a few nanoseconds each.
   */
  someIn(prefix: Prefix, isIt: (row: number) => boolean): boolean {
    const mask = new Uint8Array(ADDRESS_BYTES).fill(0xff);
    clearHostBits(mask, mappedLength(prefix));
    const words = this.#signedWords;
    const [m0, m1, m2, m3] = signedWords(mask) as unknown as FourWords;
    const [w0, w1, w2, w3] = signedWords(addressToBytes(prefix.address)) as unknown as FourWords;
    for (let at = 0; at < words.length; at += WORDS) {
      // The last word first: for IPv4 the others are mostly equal.
      if (((words[at + 3] as number) & m3) !== w3 || ((words[at] as number) & m0) !== w0) continue;
      if (((words[at + 1] as number) & m1) !== w1 || ((words[at + 2] as number) & m2) !== w2) continue;
      if (isIt(at / WORDS)) return true;
    }
    return false;
  }

  /** The slot of the prefix, or the free slot where it would go. */
  #slotOf(words: Uint32Array, at: number, length: number): number {
    const { lengths, slots } = this.#packed;
    const mask = slots.length - 1;
    for (let slot = hashOf(words, at, length) & mask; ; slot = (slot + 1) & mask) {
      const row = (slots[slot] as number) - 1;
      if (row < 0 || (lengths[row] === length && this.#isAt(row, words, at))) return slot;
    }
  }

  #isAt(row: number, words: Uint32Array, at: number): boolean {
    for (let i = 0; i < WORDS; i++) if (this.#words[row * WORDS + i] !== words[at + i]) return false;
    return true;
  }
}

function signedWords(bytes: Uint8Array<ArrayBuffer>): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

function wordsOf(bytes: Uint8Array<ArrayBuffer>): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

/** Multiplies and folds each word in; the constants are those of MurmurHash3, which is in the public domain. */
function hashOf(words: Uint32Array, at: number, length: number): number {
  let hash = length;
  for (let i = 0; i < WORDS; i++) {
    hash = Math.imul(hash ^ (words[at + i] as number), 0x85ebca6b);
    hash ^= hash >>> 13;
  }
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
