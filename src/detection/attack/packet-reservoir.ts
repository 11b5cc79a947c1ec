/**
 * A bounded sample of packets that were themselves sampled at different rates, from which shares of all of them are told
 * without bias: priority sampling (Duffield, Lund, Thorup, "Priority sampling for estimation of arbitrary subset sums").
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
  /** The highest priority that was let go: who stays stands for at least as many packets. */
  #bar = 0;
  #offered = 0;

  /** @param random like Math.random. */
  constructor(capacity: number, random: () => number) {
    this.#capacity = capacity;
    this.#random = random;
  }

  /** @param open is asked for the packet only when it is kept for now; null: it is none of ours. */
  offer(standsFor: number, open: () => Omit<SampledPacket, "standsFor"> | null): void {
    // Never zero, which would last for ever.
    const priority = standsFor / (1 - this.#random());
    if (priority <= this.#bar) return;
    const packet = open();
    if (packet === null) return;
    this.#kept.push({ packet, order: this.#offered++, standsFor, priority });
    if (this.#kept.length >= 2 * this.#capacity) this.#letGo();
  }

  /** What is in it counts for so much less than what comes: old packets make room for new ones. */
  fade(factor: number): void {
    this.#bar *= factor;
    for (const kept of this.#kept) {
      kept.standsFor *= factor;
      kept.priority *= factor;
    }
  }

  resize(capacity: number): void {
    this.#capacity = capacity;
    this.#letGo();
  }

  clear(): void {
    this.#kept = [];
    this.#bar = 0;
  }

  /** In the order in which they were offered. */
  packets(): SampledPacket[] {
    this.#letGo();
    return this.#kept
      .toSorted((a, b) => a.order - b.order)
      .map(({ packet, standsFor }) => ({ ...packet, standsFor: Math.max(standsFor, this.#bar) }));
  }

  #letGo(): void {
    if (this.#kept.length <= this.#capacity) return;
    this.#kept.sort((a, b) => b.priority - a.priority);
    this.#bar = this.#kept[this.#capacity]?.priority ?? this.#bar;
    this.#kept.length = this.#capacity;
  }
}
