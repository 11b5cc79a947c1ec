/**
 * A bounded sample of packets that were sampled at different rates, for unbiased estimates of shares: priority sampling
 * (Duffield, Lund, Thorup, "Priority sampling for estimation of arbitrary subset sums"). Keeps them in flat memory:
 * objects for the packets of a thousand attacks would keep the garbage collector busy.
 */
import { HEADER_RECORD_WORDS, HeaderRecords } from "../../traffic/header-record.ts";
import { PacketColumns } from "./packet-columns.ts";

/** Enough for the two readings of one of a thousand attacks. */
const FIRST_SLOTS = 128;

export class PacketReservoir {
  readonly #random: () => number;
  #capacity: number;
  #count = 0;
  #words = new Uint32Array(0);
  #standsFor = new Float64Array(0);
  #priority = new Float64Array(0);
  /** The highest priority that was removed: each kept packet represents at least this many packets. */
  #bar = 0;

  /** @param random like Math.random. */
  constructor(capacity: number, random: () => number) {
    this.#capacity = capacity;
    this.#random = random;
  }

  /** Copies the record if it is kept for now. */
  offer(records: HeaderRecords, index: number): void {
    const standsFor = records.standsFor(index);
    // The divisor is never zero: an infinite priority would never be removed.
    const priority = standsFor / (1 - this.#random());
    if (priority <= this.#bar) return;
    if (this.#count === this.#standsFor.length) this.#reallocate(Math.min(2 * this.#count, 2 * this.#capacity));
    const slot = this.#count++;
    const [from, to] = [index * HEADER_RECORD_WORDS, slot * HEADER_RECORD_WORDS];
    for (let i = 0; i < HEADER_RECORD_WORDS; i++) this.#words[to + i] = records.words[from + i] as number;
    this.#standsFor[slot] = standsFor;
    this.#priority[slot] = priority;
    if (this.#count >= 2 * this.#capacity) this.#removeLowest();
  }

  /** Multiplies all kept weights, so that newer packets replace older ones. */
  fade(factor: number): void {
    this.#bar *= factor;
    for (let i = 0; i < this.#count; i++) {
      this.#standsFor[i] = (this.#standsFor[i] as number) * factor;
      this.#priority[i] = (this.#priority[i] as number) * factor;
    }
  }

  resize(capacity: number): void {
    this.#capacity = capacity;
    this.#removeLowest();
    if (this.#standsFor.length > 4 * capacity) this.#reallocate(2 * capacity);
  }

  clear(): void {
    this.#count = 0;
    this.#bar = 0;
  }

  /** In the order of offer(): a view that the next offer changes. */
  columns(): PacketColumns {
    this.#removeLowest();
    const standsFor = this.#standsFor.slice(0, this.#count);
    for (let i = 0; i < standsFor.length; i++) standsFor[i] = Math.max(standsFor[i] as number, this.#bar);
    return new PacketColumns(new HeaderRecords(new Uint8Array(this.#words.buffer)), standsFor);
  }

  /** If priorities are equal, the older ones stay. The others keep their order. */
  #removeLowest(): void {
    const surplus = this.#count - this.#capacity;
    if (surplus <= 0) return;
    const sorted = this.#priority.slice(0, this.#count).sort();
    const bar = sorted[surplus - 1] as number;
    let equals = this.#capacity - (sorted.length - sorted.findLastIndex((priority) => priority <= bar) - 1);
    let kept = 0;
    for (let i = 0; i < this.#count; i++) {
      const priority = this.#priority[i] as number;
      if (priority < bar || (priority === bar && equals-- <= 0)) continue;
      if (kept !== i) this.#move(i, kept);
      kept++;
    }
    this.#bar = bar;
    this.#count = kept;
  }

  #move(from: number, to: number): void {
    const at = from * HEADER_RECORD_WORDS;
    this.#words.copyWithin(to * HEADER_RECORD_WORDS, at, at + HEADER_RECORD_WORDS);
    this.#standsFor[to] = this.#standsFor[from] as number;
    this.#priority[to] = this.#priority[from] as number;
  }

  /** @param slotsWanted at least as many as are kept. */
  #reallocate(slotsWanted: number): void {
    const slots = Math.max(FIRST_SLOTS, slotsWanted);
    const count = this.#count;
    const [words, standsFor, priority] = [this.#words, this.#standsFor, this.#priority];
    this.#words = new Uint32Array(slots * HEADER_RECORD_WORDS);
    this.#standsFor = new Float64Array(slots);
    this.#priority = new Float64Array(slots);
    this.#words.set(words.subarray(0, count * HEADER_RECORD_WORDS));
    this.#standsFor.set(standsFor.subarray(0, count));
    this.#priority.set(priority.subarray(0, count));
  }
}
