/** A sampled packet with its weight, and sums of weights. Pure. */
import type { PacketHeader } from "../../traffic/packet-header.ts";

export interface WeightedPacket {
  readonly header: PacketHeader;
  /** The number of packets or bytes that it represents, or its share of them. */
  readonly weight: number;
}

export function weightOf(packets: readonly WeightedPacket[]): number {
  let sum = 0;
  for (const { weight } of packets) sum += weight;
  return sum;
}

/** The same packets, with weights that add up to `total`. */
export function scaled(packets: readonly WeightedPacket[], total: number): WeightedPacket[] {
  const factor = total / (weightOf(packets) || 1);
  return packets.map(({ header, weight }) => ({ header, weight: weight * factor }));
}

/** Keys of value null are left out. */
export function weightsBy<K>(
  packets: readonly WeightedPacket[],
  keyOf: (header: PacketHeader) => K | null,
): Map<K, number> {
  const weights = new Map<K, number>();
  for (const { header, weight } of packets) {
    const key = keyOf(header);
    if (key !== null) weights.set(key, (weights.get(key) ?? 0) + weight);
  }
  return weights;
}

/** The number of packets by key; those of key null are left out. */
export function countsBy<K>(
  packets: readonly WeightedPacket[],
  keyOf: (header: PacketHeader) => K | null,
): ReadonlyMap<K, number> {
  const counts = new Map<K, number>();
  for (const { header } of packets) {
    const key = keyOf(header);
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** The value with the most weight; null: no packet has one. */
export function heaviestOf(
  packets: readonly WeightedPacket[],
  keyOf: (header: PacketHeader) => number | null,
): { readonly value: number; readonly weight: number } | null {
  let heaviest: { value: number; weight: number } | null = null;
  for (const [value, weight] of weightsBy(packets, keyOf)) {
    if (heaviest === null || weight > heaviest.weight) heaviest = { value, weight };
  }
  return heaviest;
}
