/**
 * The newest sampled headers of each attack in progress and of the last ended ones, byte for byte: for a capture file.
 * Bounded in packets of one attack and of all together.
 */
import { RECENT_PACKETS_ENDED_ATTACKS, RECENT_PACKETS_MAX, RECENT_PACKETS_PER_ATTACK } from "../../limits.ts";
import { decodeHeader } from "../../traffic/packet-header.ts";
import type { CapturedPacket } from "../../traffic/pcap-file.ts";
import type { SampledPacket } from "./sample-shares.ts";

/** What ended attacks may keep is taken off the room of those in progress. */
const ACTIVE_PACKETS_MAX = RECENT_PACKETS_MAX - RECENT_PACKETS_ENDED_ATTACKS * RECENT_PACKETS_PER_ATTACK;

export class RecentPackets {
  /** By attack id; oldest packet first. */
  readonly #active = new Map<string, CapturedPacket[]>();
  /** In the order in which they ended. */
  readonly #ended = new Map<string, readonly CapturedPacket[]>();
  #each = RECENT_PACKETS_PER_ATTACK;

  /** @param packets newer than those that are kept, oldest first. */
  add(id: string, packets: readonly CapturedPacket[]): void {
    const kept = this.#active.get(id) ?? [];
    kept.push(...packets);
    this.#active.set(id, kept);
    const each = Math.min(RECENT_PACKETS_PER_ATTACK, Math.floor(ACTIVE_PACKETS_MAX / this.#active.size));
    if (each < this.#each) for (const others of this.#active.values()) keepNewest(others, each);
    this.#each = each;
    keepNewest(kept, each);
  }

  /** The next reading begins anew. */
  clear(id: string): void {
    this.#active.delete(id);
  }

  end(id: string): void {
    const kept = this.#active.get(id);
    this.#active.delete(id);
    if (kept === undefined || kept.length === 0) return;
    this.#ended.set(id, kept);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= RECENT_PACKETS_ENDED_ATTACKS) break;
      this.#ended.delete(oldest);
    }
  }

  /** Oldest first; empty: none are kept of this attack, or not any more. */
  of(id: string): readonly CapturedPacket[] {
    return this.#active.get(id) ?? this.#ended.get(id) ?? [];
  }
}

/** Decoded; each stands for itself alone. */
export function sampledPackets(packets: readonly CapturedPacket[]): SampledPacket[] {
  return packets.flatMap(({ frame, wireBytes }) => {
    const header = decodeHeader(frame);
    return header === null ? [] : { header, wireBytes, standsFor: 1 };
  });
}

function keepNewest(packets: CapturedPacket[], count: number): void {
  if (packets.length > count) packets.splice(0, packets.length - count);
}
