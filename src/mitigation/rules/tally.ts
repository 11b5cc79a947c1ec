/** Sums of weights by whole numbers, in the order in which these came first. Pure. */

/** Up to this number of values, each is compared. */
const LISTED_MAX = 8;
/** Power of two. */
const SLOTS_MIN = 64;
const FREE = -1;
/** A multiplicative hash (Knuth, "The Art of Computer Programming", volume 3, 6.4). */
const SPREAD = 0x9e3779b1;

export class Tally {
  /** By index, each value once. */
  readonly values: number[] = [];
  readonly weights: number[] = [];
  readonly counts: number[] = [];
  /** By hash: the index of a value, or FREE. null: there are few. */
  #slots: Int32Array | null = null;

  get size(): number {
    return this.values.length;
  }

  /** Returns the index of the value. @param value a whole number from 0 to 2^53. */
  add(value: number, weight: number): number {
    const known = this.indexOf(value);
    if (known !== FREE) {
      this.weights[known] = (this.weights[known] as number) + weight;
      this.counts[known] = (this.counts[known] as number) + 1;
      return known;
    }
    const index = this.values.length;
    this.values.push(value);
    this.weights.push(weight);
    this.counts.push(1);
    const slots = this.#slots;
    if (index >= LISTED_MAX && (slots === null || 2 * index >= slots.length)) this.#grow();
    else if (slots !== null) slots[this.#slotOf(slots, value)] = index;
    return index;
  }

  /** The index of the value; -1: it is not in it. */
  indexOf(value: number): number {
    if (this.#slots !== null) return this.#slots[this.#slotOf(this.#slots, value)] as number;
    for (let i = 0; i < this.values.length; i++) if (this.values[i] === value) return i;
    return FREE;
  }

  /** 0: it is not in it. */
  weightOf(value: number): number {
    const index = this.indexOf(value);
    return index === FREE ? 0 : (this.weights[index] as number);
  }

  /** Linear probing: at least half of the slots are free. */
  #slotOf(slots: Int32Array, value: number): number {
    const mask = slots.length - 1;
    let slot = Math.imul(value ^ (value / 0x1_0000_0000), SPREAD) >>> 8;
    for (slot &= mask; ; slot = (slot + 1) & mask) {
      const index = slots[slot] as number;
      if (index === FREE || this.values[index] === value) return slot;
    }
  }

  #grow(): void {
    const slots = new Int32Array(Math.max(SLOTS_MIN, 2 * (this.#slots?.length ?? 0))).fill(FREE);
    for (let i = 0; i < this.values.length; i++) slots[this.#slotOf(slots, this.values[i] as number)] = i;
    this.#slots = slots;
  }
}
