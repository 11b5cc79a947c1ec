/** Sums of weights by whole numbers, in the order in which these came first. Pure. */

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
  /** By hash: the index of a value, or FREE. */
  #slots = new Int32Array(SLOTS_MIN).fill(FREE);

  get size(): number {
    return this.values.length;
  }

  /** Returns the index of the value. @param value a whole number from 0 to 2^53. */
  add(value: number, weight: number): number {
    const slot = this.#slotOf(value);
    const known = this.#slots[slot] as number;
    if (known !== FREE) {
      this.weights[known] = (this.weights[known] as number) + weight;
      this.counts[known] = (this.counts[known] as number) + 1;
      return known;
    }
    const index = this.values.length;
    this.#slots[slot] = index;
    this.values.push(value);
    this.weights.push(weight);
    this.counts.push(1);
    if (2 * this.values.length > this.#slots.length) this.#grow();
    return index;
  }

  /** The index of the value; -1: it is not in it. */
  indexOf(value: number): number {
    return this.#slots[this.#slotOf(value)] as number;
  }

  /** 0: it is not in it. */
  weightOf(value: number): number {
    const index = this.indexOf(value);
    return index === FREE ? 0 : (this.weights[index] as number);
  }

  /** Linear probing: at least half of the slots are free. */
  #slotOf(value: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = Math.imul(value ^ (value / 0x1_0000_0000), SPREAD) >>> 8;
    for (slot &= mask; ; slot = (slot + 1) & mask) {
      const index = slots[slot] as number;
      if (index === FREE || this.values[index] === value) return slot;
    }
  }

  #grow(): void {
    this.#slots = new Int32Array(2 * this.#slots.length).fill(FREE);
    for (let i = 0; i < this.values.length; i++) this.#slots[this.#slotOf(this.values[i] as number)] = i;
  }
}
