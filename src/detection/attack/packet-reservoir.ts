/**
 * A bounded sample of packets that were sampled at different rates, for unbiased estimates of shares: priority sampling
 * (Duffield, Lund, Thorup, "Priority sampling for estimation of arbitrary subset sums").
 */
import type { SampledPacket } from "./sample.ts";

interface Kept {
  readonly packet: Omit<SampledPacket, "standsFor">;
  readonly order: number;
  standsFor: number;
  priority: number;
}

export class PacketReservoir {
  readonly #random: () => number;
  #capacity: number;
  #kept: Kept[] = [];
  /** The highest priority that was removed: each kept packet represents at least this many packets. */
  #bar = 0;
  #offered = 0;

  /** @param random like Math.random. */
  constructor(capacity: number, random: () => number) {
    this.#capacity = capacity;
    this.#random = random;
  }

  /** @param open returns the packet, called only if it is kept for now; null: the packet is not wanted. */
  offer(standsFor: number, open: () => Omit<SampledPacket, "standsFor"> | null): void {
    // The divisor is never zero: an infinite priority would never be removed.
    const priority = standsFor / (1 - this.#random());
    if (priority <= this.#bar) return;
    const packet = open();
    if (packet === null) return;
    this.#kept.push({ packet, order: this.#offered++, standsFor, priority });
    if (this.#kept.length >= 2 * this.#capacity) this.#removeLowest();
  }

  /** Multiplies all kept weights, so that newer packets replace older ones. */
  fade(factor: number): void {
    this.#bar *= factor;
    for (const kept of this.#kept) {
      kept.standsFor *= factor;
      kept.priority *= factor;
    }
  }

  resize(capacity: number): void {
    this.#capacity = capacity;
    this.#removeLowest();
  }

  clear(): void {
    this.#kept = [];
    this.#bar = 0;
  }

  /** In the order of offer(). */
  packets(): SampledPacket[] {
    this.#removeLowest();
    return this.#kept
      .toSorted((a, b) => a.order - b.order)
      .map(({ packet, standsFor }) => ({ ...packet, standsFor: Math.max(standsFor, this.#bar) }));
  }

  #removeLowest(): void {
    if (this.#kept.length <= this.#capacity) return;
    this.#kept.sort((a, b) => b.priority - a.priority);
    this.#bar = this.#kept[this.#capacity]?.priority ?? this.#bar;
    this.#kept.length = this.#capacity;
  }
}
