/**
 * The newest sampled headers of each attack in progress and of the last ended ones, byte for byte: for a capture file.
 * Bounded in packets of one attack and of all together; of ended attacks the oldest of the hostgroup that has most go
 * first, so that many attacks on one tenant's hosts drop none of another's packets.
 */
import { decodeHeader } from "../../traffic/packet-header.ts";
import type { PacketOutcome } from "../../traffic/packet-outcome.ts";
import type { CapturedPacket } from "../../traffic/pcap-file.ts";
import { type KeptPacket, NO_PACKETS, OutcomeRings, type PacketCounts } from "./outcome-rings.ts";
import type { SampledPacket } from "./sample-shares.ts";

/**
 * Headers kept for the capture file of one attack, of at most 160 bytes each in memory and 144 in the file; those of
 * all attacks together; and ended attacks that keep theirs.
 */
export const RECENT_PACKETS_PER_ATTACK = 512;
export const RECENT_PACKETS_MAX = 65_536;
export const RECENT_PACKETS_ENDED_ATTACKS = 32;

/** The room of ended attacks is taken off the room of those in progress. */
const ACTIVE_PACKETS_MAX = RECENT_PACKETS_MAX - RECENT_PACKETS_ENDED_ATTACKS * RECENT_PACKETS_PER_ATTACK;

export class RecentPackets {
  /** By attack id. */
  readonly #active = new Map<string, OutcomeRings>();
  /** In the order in which they ended. */
  readonly #ended = new Map<string, { readonly rings: OutcomeRings; readonly group: string }>();
  #each = RECENT_PACKETS_PER_ATTACK;

  /** Number of packets that an attack in progress may keep. */
  get each(): number {
    return this.#each;
  }

  /** @param packets newer than those that are kept, oldest first; their frames are copied. */
  add(id: string, packets: readonly KeptPacket[]): void {
    const rings = this.#active.get(id) ?? new OutcomeRings();
    this.#active.set(id, rings);
    const each = Math.min(RECENT_PACKETS_PER_ATTACK, Math.floor(ACTIVE_PACKETS_MAX / this.#active.size));
    if (each < this.#each) for (const others of this.#active.values()) others.limit(each);
    this.#each = each;
    for (const packet of packets) rings.push(packet, each);
  }

  /** The next reading starts from the beginning. */
  clear(id: string): void {
    this.#active.get(id)?.limit(0);
  }

  end(id: string, group = ""): void {
    const rings = this.#active.get(id);
    this.#active.delete(id);
    if (rings === undefined || rings.length === 0) return;
    rings.trim();
    this.#ended.set(id, { rings, group });
    if (this.#ended.size <= RECENT_PACKETS_ENDED_ATTACKS) return;
    const groups = [...Map.groupBy(this.#ended, ([, { group: own }]) => own).values()];
    const [oldest] = groups.reduce((most, own) => (own.length > most.length ? own : most))[0] ?? [id];
    this.#ended.delete(oldest);
  }

  /** Oldest first; empty: none are kept of this attack, or not any more. @param outcome null: all packets. */
  of(id: string, outcome: PacketOutcome | null = null): readonly CapturedPacket[] {
    return this.#ringsOf(id)?.packets(outcome) ?? [];
  }

  countsOf(id: string): PacketCounts {
    return this.#ringsOf(id)?.counts() ?? NO_PACKETS;
  }

  #ringsOf(id: string): OutcomeRings | undefined {
    return this.#active.get(id) ?? this.#ended.get(id)?.rings;
  }
}

/** Decoded; each stands for itself alone. */
export function sampledPackets(packets: readonly CapturedPacket[]): SampledPacket[] {
  return packets.flatMap(({ frame, wireBytes }) => {
    const header = decodeHeader(frame);
    return header === null ? [] : { header, wireBytes, standsFor: 1 };
  });
}
