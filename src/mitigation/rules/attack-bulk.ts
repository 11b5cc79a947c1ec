/**
 * The bulk of packets of one class: tools and reflectors send packets that are alike in some fields and drawn at random in
 * others, and users of the same class differ from them in one or the other. Pure.
 */
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { type WeightedPacket, weightOf, weightsBy } from "./weighted-packet.ts";

/** Values that an attack is alike in: so many at most, with so much of the packets, and each so much of the heaviest. */
const ALIKE_VALUES_MAX = 5;
const ALIKE_SHARE = 0.6;
const ALIKE_LEAST = 0.15;
/** Of ports that are drawn at random, none has so many packets. */
const STANDS_OUT_PACKETS = 4;
const STANDS_OUT_SHARE = 0.004;
/** Lengths further out belong to the bulk while so much of its density goes on there. */
const DENSITY_LEAST = 0.2;

/** What is alike of a packet, in the order in which it is looked at; null: the packet has no such field. */
const FIELDS: readonly ((header: PacketHeader) => number | null)[] = [
  ({ ports }) => ports?.destination ?? null,
  ({ ports }) => ports?.source ?? null,
  ({ packetBytes }) => packetBytes,
];

/**
 * @param usersMost the share of all traffic that users have at most.
 * @returns some of the packets; empty: they have nothing in common.
 */
export function bulkOf(packets: readonly WeightedPacket[], usersMost: number): readonly WeightedPacket[] {
  let bulk = packets;
  let budget = usersMost;
  for (const keyOf of FIELDS) {
    const alike = valuesAlike(bulk, keyOf);
    const next = alike === null ? bulk : bulk.filter(({ header }) => alike.has(keyOf(header)));
    budget -= weightOf(bulk) - weightOf(next);
    bulk = next;
  }
  const spared = new Set(standingOut(bulk, Math.max(0, budget)));
  bulk = bulk.filter((packet) => !spared.has(packet));
  return denseLengths(bulk, Math.max(0, budget - weightOf([...spared])));
}

/** The few values that most packets have; null: they are many. */
function valuesAlike(
  packets: readonly WeightedPacket[],
  keyOf: (header: PacketHeader) => number | null,
): ReadonlySet<number | null> | null {
  const weights = [...weightsBy(packets, keyOf)].sort(([, a], [, b]) => b - a).slice(0, ALIKE_VALUES_MAX);
  const [heaviest] = weights;
  if (heaviest === undefined) return null;
  const alike = weights.filter(([, weight]) => weight >= ALIKE_LEAST * heaviest[1]);
  const share = alike.reduce((sum, [, weight]) => sum + weight, 0) / weightOf(packets);
  return share >= ALIKE_SHARE ? new Set(alike.map(([value]) => value)) : null;
}

/**
 * Where destination ports are drawn at random, the packets to ports that many packets go to: services of the host. None if
 * that were more than users have.
 */
function standingOut(packets: readonly WeightedPacket[], usersMost: number): readonly WeightedPacket[] {
  const counts = new Map<number, number>();
  for (const { header } of packets) {
    const port = header.ports?.destination;
    if (port !== undefined) counts.set(port, (counts.get(port) ?? 0) + 1);
  }
  const least = Math.max(STANDS_OUT_PACKETS, STANDS_OUT_SHARE * packets.length);
  const isOut = ({ header }: WeightedPacket) => (counts.get(header.ports?.destination ?? -1) ?? 0) >= least;
  const out = packets.filter(isOut);
  return weightOf(out) <= usersMost ? out : [];
}

/**
 * The narrowest range of lengths that has all but `usersMost` of the traffic, and what is as dense around it. Segments of
 * TCP have lengths of their own when they carry nothing.
 */
function denseLengths(packets: readonly WeightedPacket[], usersMost: number): readonly WeightedPacket[] {
  const total = weightOf(packets);
  const needed = total - usersMost;
  if (needed <= 0.5 * total) return packets;
  const sorted = packets.toSorted((a, b) => a.header.packetBytes - b.header.packetBytes);
  const lengthAt = (i: number) => sorted[i]?.header.packetBytes ?? 0;
  let best: { readonly from: number; readonly to: number } | null = null;
  let sum = 0;
  for (let from = 0, to = 0; to < sorted.length; to++) {
    sum += sorted[to]?.weight ?? 0;
    while (sum - (sorted[from]?.weight ?? 0) >= needed) sum -= sorted[from++]?.weight ?? 0;
    if (sum < needed) continue;
    if (best === null || lengthAt(to) - lengthAt(from) < lengthAt(best.to) - lengthAt(best.from)) best = { from, to };
  }
  if (best === null) return packets;
  return withinLengths(sorted, extended(sorted, best));
}

/** The range with its surroundings, as far as they have packets as densely. */
function extended(sorted: readonly WeightedPacket[], { from, to }: { readonly from: number; readonly to: number }) {
  const lengthAt = (i: number) => sorted[i]?.header.packetBytes ?? 0;
  const width = Math.max(1, lengthAt(to) - lengthAt(from));
  // The mean distance between two packets of the range, times what is let pass for chance.
  const gap = Math.max(1, width / (to - from + 1) / DENSITY_LEAST);
  let [first, last] = [from, to];
  while (first > 0 && lengthAt(first) - lengthAt(first - 1) <= gap) first--;
  while (last < sorted.length - 1 && lengthAt(last + 1) - lengthAt(last) <= gap) last++;
  return { min: lengthAt(first), max: lengthAt(last) };
}

function withinLengths(packets: readonly WeightedPacket[], { min, max }: { readonly min: number; readonly max: number }) {
  return packets.filter(({ header }) => header.packetBytes >= min && header.packetBytes <= max);
}

