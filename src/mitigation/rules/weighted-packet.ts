/** A sampled packet with its weight, and sums of weights. Pure. */
import type { FlatHeader } from "./flat-header.ts";
import { Tally } from "./tally.ts";

export interface WeightedPacket {
  readonly header: FlatHeader;
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
  keyOf: (header: FlatHeader) => K | null,
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
  keyOf: (header: FlatHeader) => K | null,
): ReadonlyMap<K, number> {
  const counts = new Map<K, number>();
  for (const { header } of packets) {
    const key = keyOf(header);
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** By the value of a field, of the packets whose value is at least that; the value NONE is left out. */
export function talliedBy(packets: readonly WeightedPacket[], field: NumberField, least = 0): Tally {
  const tally = new Tally();
  for (const { header, weight } of packets) {
    const value = header[field];
    if (value >= least) tally.add(value, weight);
  }
  return tally;
}

export type NumberField = "sourcePort" | "destinationPort" | "packetBytes";

/** The values with their weights, of equals the first first. */
export function heaviestFirst({ values, weights }: Tally) {
  return values.map((value, i) => ({ value, weight: weights[i] as number })).sort((a, b) => b.weight - a.weight);
}

/** The value with the most weight, the first of equals; null: there is none. */
export function heaviestOf({ values, weights, counts }: Tally) {
  let heaviest = 0;
  for (let i = 1; i < weights.length; i++) if ((weights[i] as number) > (weights[heaviest] as number)) heaviest = i;
  const [value, weight, count] = [values[heaviest], weights[heaviest], counts[heaviest]];
  return value === undefined || weight === undefined || count === undefined ? null : { value, weight, count };
}
