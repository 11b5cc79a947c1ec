/**
 * The table of normal rates, one row for each host or hostgroup, in one buffer of fixed size, so that a row takes one
 * memory access: 36 bytes per row with one direction and 52 with two, plus 6 to 16 for the hash index. Memory follows the
 * number of rows: the system commits that of the rows at their first use, and the index grows. At most `capacity` rows,
 * found by 16-byte keys. When the table is full, the row with the least learned time among idle candidates is replaced.
 */
import { BASE_TRIO } from "../../traffic/rates.ts";
import type { SeasonTable } from "./baseline-seasons.ts";

/** Candidates checked for replacement. */
const CANDIDATES = 16;
/** A row with traffic within this time is not replaced, seconds. */
export const IDLE_SECONDS = 600;
/** Far beyond any warm-up; a larger count would exceed the precision of a float. */
export const LEARNED_MAX = 1e7;

/** First byte of the key of a whole hostgroup. */
export const GROUP_KEY = 0xff;

const KEY_WORDS = 4;
/**
 * Words of a row: the key, the time of its last traffic, and for each direction the learned seconds and the base trio.
 */
const LAST_TRAFFIC = KEY_WORDS;
const SIDES = LAST_TRAFFIC + 1;
const SIDE_WORDS = 1 + BASE_TRIO;
const NONE = -1;
/** Slots of the index at the start. */
const SLOTS_MIN = 4096;
/** Rows that are indexed again with each call while the index grows: a million at once would block the event loop. */
const ROWS_MOVED = 8;

export interface BaselineTableOptions {
  readonly capacity: number;
  /** 1: incoming only. */
  readonly directions: 1 | 2;
  /** Hash seed, so that a sender cannot choose colliding addresses. */
  readonly seed: number;
}

export class BaselineTable {
  readonly directions: 1 | 2;
  readonly #capacity: number;
  readonly #seed: number;
  /** Words of one row. */
  readonly #stride: number;
  /** Integer view of the same memory, for keys and seconds of the caller's clock. */
  readonly #words: Uint32Array;
  /** Float view: from sideAt() on, seconds with traffic, then the base trio. */
  readonly values: Float32Array;
  /** Hash index with linear probing: row + 1; 0: free. At most half full, two thirds at its largest size. */
  #slots: Uint32Array;
  readonly #slotsMax: number;
  /** The index before it grew, for rows that the present one does not have yet; null: it has all. */
  #slotsBefore: Uint32Array | null = null;
  /** Rows below this are in the present index, and those that were added since it grew. */
  #moved = 0;
  #rowsBefore = 0;
  readonly #key = new Uint32Array(KEY_WORDS);
  #count = 0;
  #hand = 0;
  /** Number of keys without a row. */
  refused = 0;
  /** null until a hostgroup is seasonal. */
  seasons: SeasonTable | null = null;

  constructor({ capacity, directions, seed }: BaselineTableOptions) {
    this.directions = directions;
    this.#capacity = capacity;
    this.#seed = seed;
    this.#stride = SIDES + SIDE_WORDS * directions;
    this.#words = new Uint32Array(capacity * this.#stride);
    this.values = new Float32Array(this.#words.buffer);
    this.#slotsMax = 2 ** Math.ceil(Math.log2(1.5 * capacity + 1));
    this.#slots = new Uint32Array(Math.min(SLOTS_MIN, this.#slotsMax));
  }

  get count(): number {
    return this.#count;
  }

  /** -1: not found. */
  find(keys: Uint8Array, at: number): number {
    this.#readKey(keys, at);
    return this.#rowOfKey();
  }

  /** Adds a row if needed; -1: the table is full. */
  findOrAdd(keys: Uint8Array, at: number, nowSeconds: number): number {
    this.#moveRows(ROWS_MOVED);
    this.#readKey(keys, at);
    const found = this.#rowOfKey();
    if (found !== NONE) return found;
    let row = this.#count;
    if (row < this.#capacity) {
      this.#growIndex();
      this.#count++;
    } else {
      row = this.#leastLearnedIdle(nowSeconds);
      if (row === NONE) {
        this.refused++;
        return NONE;
      }
      this.#removeSlot(row);
      this.seasons?.release(row);
    }
    this.#slots[this.#slotOfKey(this.#slots)] = row + 1;
    const first = row * this.#stride;
    this.#words.set(this.#key, first);
    this.#words[first + LAST_TRAFFIC] = nowSeconds;
    this.values.fill(0, first + SIDES, first + this.#stride);
    return row;
  }

  /** @param direction 0 incoming, 1 outgoing. */
  sideAt(row: number, direction: number): number {
    return row * this.#stride + SIDES + direction * SIDE_WORDS;
  }

  normal(row: number, direction: number, metric: number): number {
    return this.values[this.sideAt(row, direction) + 1 + metric] as number;
  }

  setNormal(row: number, direction: number, metric: number, rate: number): void {
    this.values[this.sideAt(row, direction) + 1 + metric] = rate;
  }

  learnedSeconds(row: number, direction: number): number {
    return this.values[this.sideAt(row, direction)] as number;
  }

  setLearnedSeconds(row: number, direction: number, seconds: number): void {
    this.values[this.sideAt(row, direction)] = Math.min(seconds, LEARNED_MAX);
  }

  lastTrafficSeconds(row: number): number {
    return this.#words[row * this.#stride + LAST_TRAFFIC] as number;
  }

  setLastTraffic(row: number, nowSeconds: number): void {
    this.#words[row * this.#stride + LAST_TRAFFIC] = nowSeconds;
  }

  /** False for a hostgroup, whose key starts with the first byte of multicast addresses. */
  isHost(row: number): boolean {
    return ((this.#words[row * this.#stride] as number) & 0xff) !== GROUP_KEY;
  }

  /** Writes 16 bytes to `out`. */
  copyKey(row: number, out: DataView, at: number): void {
    for (let i = 0; i < KEY_WORDS; i++) out.setUint32(at + 4 * i, this.#words[row * this.#stride + i] as number, true);
  }

  #readKey(keys: Uint8Array, at: number): void {
    for (let i = 0; i < KEY_WORDS; i++) {
      const from = at + 4 * i;
      this.#key[i] =
        (keys[from] as number) |
        ((keys[from + 1] as number) << 8) |
        ((keys[from + 2] as number) << 16) |
        ((keys[from + 3] as number) << 24);
    }
  }

  /** The row of the present key. */
  #rowOfKey(): number {
    const row = (this.#slots[this.#slotOfKey(this.#slots)] as number) - 1;
    if (row !== NONE || this.#slotsBefore === null) return row;
    return (this.#slotsBefore[this.#slotOfKey(this.#slotsBefore)] as number) - 1;
  }

  /** The slot of the present key, or the free slot where it would go. */
  #slotOfKey(slots: Uint32Array): number {
    const a = this.#key[0] as number;
    const b = this.#key[1] as number;
    const c = this.#key[2] as number;
    const d = this.#key[3] as number;
    const mask = slots.length - 1;
    let slot = this.#hash(a, b, c, d) & mask;
    for (;;) {
      const taken = slots[slot] as number;
      if (taken === 0) return slot;
      const key = (taken - 1) * this.#stride;
      const keys = this.#words;
      if (keys[key + 3] === d && keys[key + 2] === c && keys[key + 1] === b && keys[key] === a) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #growIndex(): void {
    if (this.#slotsBefore !== null || this.#count < this.#slots.length / 2) return;
    if (this.#slots.length === this.#slotsMax) return;
    this.#slotsBefore = this.#slots;
    this.#slots = new Uint32Array(2 * this.#slots.length);
    this.#moved = 0;
    this.#rowsBefore = this.#count;
  }

  /** Rows keep their keys until the table is full, and then the index has long been moved. */
  #moveRows(most: number): void {
    if (this.#slotsBefore === null) return;
    const mask = this.#slots.length - 1;
    const end = Math.min(this.#moved + most, this.#rowsBefore);
    for (; this.#moved < end; this.#moved++) {
      let slot = this.#hashOfRow(this.#moved) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = this.#moved + 1;
    }
    if (this.#moved === this.#rowsBefore) this.#slotsBefore = null;
  }

  #hash(a: number, b: number, c: number, d: number): number {
    let hash = mix(mix(mix(mix(this.#seed, a), b), c), d);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  }

  #hashOfRow(row: number): number {
    const at = row * this.#stride;
    const keys = this.#words;
    return this.#hash(keys[at] as number, keys[at + 1] as number, keys[at + 2] as number, keys[at + 3] as number);
  }

  /** -1: all candidates had traffic recently. */
  #leastLearnedIdle(nowSeconds: number): number {
    let least = NONE;
    let leastLearned = Number.POSITIVE_INFINITY;
    for (let i = 0; i < Math.min(CANDIDATES, this.#capacity); i++) {
      const row = this.#hand;
      this.#hand = (this.#hand + 1) % this.#capacity;
      if (nowSeconds - this.lastTrafficSeconds(row) < IDLE_SECONDS) continue;
      const learned = this.learnedSeconds(row, 0);
      if (learned >= leastLearned) continue;
      least = row;
      leastLearned = learned;
    }
    return least;
  }

  /** Moves later entries forward, so that searches do not stop at the gap (Knuth 6.4, algorithm R). */
  #removeSlot(row: number): void {
    const mask = this.#slots.length - 1;
    let gap = this.#hashOfRow(row) & mask;
    while (this.#slots[gap] !== row + 1) gap = (gap + 1) & mask;
    for (let slot = (gap + 1) & mask; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const home = this.#hashOfRow((this.#slots[slot] as number) - 1) & mask;
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      this.#slots[gap] = this.#slots[slot] as number;
      gap = slot;
    }
    this.#slots[gap] = 0;
  }
}

/** A step of MurmurHash3. */
function mix(hash: number, word: number): number {
  const product = Math.imul(word, 0xcc9e2d51);
  const mixed = hash ^ Math.imul((product << 15) | (product >>> 17), 0x1b873593);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}
