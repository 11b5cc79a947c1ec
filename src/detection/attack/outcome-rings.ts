/**
 * The newest packets of one attack by what became of them, within one bound: where it is reached, the kind with the
 * most packets gives up its oldest, so that a flood that is dropped leaves those that passed.
 */

import type { PacketOutcome } from "../../traffic/packet-outcome.ts";
import type { CapturedPacket } from "../../traffic/pcap-file.ts";
import { PacketRing } from "./packet-ring.ts";

export interface KeptPacket extends CapturedPacket {
  /** null: nothing on this machine judged it. */
  readonly outcome: PacketOutcome | null;
}

/** Number of packets; `total` has those of unknown outcome, too. */
export type PacketCounts = Readonly<Record<PacketOutcome, number>> & { readonly total: number };

export const NO_PACKETS: PacketCounts = { total: 0, passed: 0, dropped: 0, answered: 0 };

export class OutcomeRings {
  readonly #rings = new Map<PacketOutcome | null, PacketRing>();
  #count = 0;

  get length(): number {
    return this.#count;
  }

  /** Copies the packet in; with `max` packets or more, others go first. */
  push(packet: KeptPacket, max: number): void {
    this.limit(max - 1);
    const ring = this.#rings.get(packet.outcome) ?? new PacketRing();
    this.#rings.set(packet.outcome, ring);
    ring.push(packet, max);
    this.#count++;
  }

  /** Gives memory back that is mostly unused. */
  limit(count: number): void {
    while (this.#count > count) {
      const [first, ...others] = this.#rings.values();
      if (first === undefined) return;
      const longest = others.reduce((most, ring) => (ring.length > most.length ? ring : most), first);
      longest.limit(longest.length - 1);
      this.#count--;
    }
  }

  /** Gives memory back that is not used. */
  trim(): void {
    for (const ring of this.#rings.values()) ring.trim();
  }

  counts(): PacketCounts {
    const of = (outcome: PacketOutcome) => this.#rings.get(outcome)?.length ?? 0;
    return { total: this.#count, passed: of("passed"), dropped: of("dropped"), answered: of("answered") };
  }

  /** Copies, oldest first. @param outcome null: all packets. */
  packets(outcome: PacketOutcome | null): CapturedPacket[] {
    if (outcome !== null) return this.#rings.get(outcome)?.packets() ?? [];
    const all = [...this.#rings.values()].flatMap((ring) => ring.packets());
    // Sorting is stable: packets of one tick and outcome stay in their order.
    return this.#rings.size > 1 ? all.sort((a, b) => a.atMs - b.atMs) : all;
  }
}
