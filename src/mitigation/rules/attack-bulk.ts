/**
 * The bulk of packets of one class: tools and reflectors send packets that are alike in some fields and drawn at random in
 * others, and users of the same class differ from them in one or the other. Pure.
 */
import { amplificationFrom } from "../../detection/attack/vector.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { NONE } from "./flat-header.ts";
import {
  countsBy,
  heaviestFirst,
  type NumberField,
  talliedBy,
  type WeightedPacket,
  weightOf,
} from "./weighted-packet.ts";

/** Common values of an attack: their maximum number, share of the packets, and each one's share of the heaviest. */
const ALIKE_VALUES_MAX = 5;
const ALIKE_SHARE = 0.6;
const ALIKE_LEAST = 0.15;
const HAVING_SHARE = 0.3;
/** No port or source that is drawn at random has as many packets. */
const STANDS_OUT_PACKETS = 4;
const STANDS_OUT_SHARE = 0.004;
/** With a random source for each packet, at least this share of packets is alone in its source, and few sources have two. */
const ONCE_SHARE_MIN = 0.6;
const TWICE_SHARE_MAX = 0.05;
/** Lengths further out belong to the bulk while so much of its density goes on there, in steps of a part of its width. */
const DENSITY_LEAST = 0.3;
const STEPS = 8;

/** The weight of all traffic. */
const ALL = 1;

/** Fields in which packets can be alike. */
const FIELDS: readonly NumberField[] = ["destinationPort", "sourcePort", "packetBytes"];

/**
 * @param usersMost the share of all traffic that users have at most.
 * @returns some of the packets; empty: they have nothing in common.
 */
export function bulkOf(packets: readonly WeightedPacket[], usersMost: number): readonly WeightedPacket[] {
  let bulk = packets;
  let budget = usersMost;
  let [isFromOnePort, isToFewPorts] = [false, false];
  // The fragments of a datagram belong together, and differ in length.
  const areFragments = packets.some(({ header }) => header.fragment !== null);
  for (const field of FIELDS) {
    const alike = valuesAlike(bulk, field, areFragments ? ALL : weightOf(bulk) - budget);
    if (alike === null) continue;
    if (field === "destinationPort") isToFewPorts = true;
    if (field === "sourcePort") isFromOnePort = packets.every(({ header }) => !isOfServer(header));
    const next = bulk.filter(({ header }) => header[field] === NONE || alike.has(header[field]));
    budget -= weightOf(bulk) - weightOf(next);
    bulk = next;
  }
  const out = isToFewPorts ? [] : standingOut(bulk);
  if (weightOf(out) <= budget) {
    const spared = new Set(out);
    bulk = bulk.filter((packet) => !spared.has(packet));
    budget -= weightOf(out);
  }
  // Users have no source port in common, unless it is that of a service that answers them.
  return isFromOnePort ? bulk : denseLengths(bulk, Math.max(0, budget));
}

/**
 * The packets of sources that come again and again while nearly all others come once: users beside a flood that draws a
 * source for each packet. None where sources of the flood return, too.
 */
export function ofReturningSources(packets: readonly WeightedPacket[]): readonly WeightedPacket[] {
  const counts = countsBy(packets, ({ source }) => source);
  const numbers = [...counts.values()];
  const [once, twice] = [1, 2].map((count) => numbers.filter((each) => each === count).length) as [number, number];
  const areDrawn = once >= ONCE_SHARE_MIN * packets.length && twice <= TWICE_SHARE_MAX * once;
  const least = leastOf(packets);
  return areDrawn ? packets.filter(({ header }) => (counts.get(header.source) ?? 0) >= least) : [];
}

function isOfServer({ ports }: PacketHeader): boolean {
  return ports !== null && amplificationFrom(ports.source) !== null;
}

/**
 * The packets that are as those of the bulk in port and length, whatever class their source port makes them: a flood with
 * random source ports has some of every service.
 */
export function likeBulk(all: readonly WeightedPacket[], bulk: readonly WeightedPacket[]): readonly WeightedPacket[] {
  const [first] = bulk;
  const ports = valuesAlike(bulk, "destinationPort", ALL);
  const lengths = valuesAlike(bulk, "packetBytes", ALL);
  if (first === undefined || ports === null || lengths === null) return bulk;
  const like = all.filter(({ header }) => {
    const isInBoth = ports.has(header.destinationPort) && lengths.has(header.packetBytes);
    return isInBoth && header.protocol === first.header.protocol && header.tcpFlags === first.header.tcpFlags;
  });
  return [...new Set([...bulk, ...like])];
}

/**
 * The few values that most packets with such a field have; null: they are many, or most packets have none.
 * @param enough the weight beyond which no further value is taken.
 */
function valuesAlike(
  packets: readonly WeightedPacket[],
  field: NumberField,
  enough: number,
): ReadonlySet<number> | null {
  const total = weightOf(packets);
  const weights = heaviestFirst(talliedBy(packets, field)).slice(0, ALIKE_VALUES_MAX);
  const [heaviest] = weights;
  if (heaviest === undefined) return null;
  let before = 0;
  const alike = weights.filter(({ weight }) => {
    const isNeeded = before < Math.max(enough, ALIKE_SHARE * total);
    before += weight;
    return isNeeded && weight >= ALIKE_LEAST * heaviest.weight;
  });
  // A later fragment has no ports.
  const having = weightOf(packets.filter(({ header }) => header[field] !== NONE));
  const share = alike.reduce((sum, { weight }) => sum + weight, 0) / having;
  return share >= ALIKE_SHARE && having >= HAVING_SHARE * total ? new Set(alike.map(({ value }) => value)) : null;
}

/** Where destination ports are drawn at random, the packets to ports that many packets go to: services of the host. */
function standingOut(packets: readonly WeightedPacket[]): readonly WeightedPacket[] {
  const { values, counts } = talliedBy(packets, "destinationPort");
  const least = leastOf(packets);
  const heavy = new Set(values.filter((_, i) => (counts[i] as number) >= least));
  return heavy.size === 0 ? [] : packets.filter(({ header }) => heavy.has(header.destinationPort));
}

/** The least number of packets that have a value which is not drawn. */
function leastOf(packets: readonly WeightedPacket[]): number {
  return Math.max(STANDS_OUT_PACKETS, STANDS_OUT_SHARE * packets.length);
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
  let best: { readonly from: number; readonly to: number; readonly width: number } | null = null;
  let sum = 0;
  for (let from = 0, to = 0; to < sorted.length; to++) {
    sum += sorted[to]?.weight ?? 0;
    while (sum - (sorted[from]?.weight ?? 0) >= needed) sum -= sorted[from++]?.weight ?? 0;
    if (sum < needed) continue;
    const width = lengthAt(sorted, to) - lengthAt(sorted, from);
    if (best === null || width < best.width) best = { from, to, width };
  }
  if (best === null) return packets;
  return withinLengths(sorted, extended(sorted, best));
}

/** The range with its surroundings, step by step, as far as they have packets about as densely. */
function extended(sorted: readonly WeightedPacket[], { from, to }: { readonly from: number; readonly to: number }) {
  let [min, max] = [lengthAt(sorted, from), lengthAt(sorted, to)];
  const width = max - min + 1;
  const step = Math.max(1, Math.ceil(width / STEPS));
  const least = (DENSITY_LEAST * (to - from + 1) * step) / width;
  const countIn = (low: number, high: number) =>
    sorted.filter(({ header }) => header.packetBytes >= low && header.packetBytes <= high).length;
  while (min > 0 && countIn(min - step, min - 1) >= Math.max(1, least)) min -= step;
  while (countIn(max + 1, max + step) >= Math.max(1, least)) max += step;
  // The last step may be one that the attack has a part of.
  return { min: min - step, max: max + step };
}

function lengthAt(sorted: readonly WeightedPacket[], i: number): number {
  return sorted[i]?.header.packetBytes ?? 0;
}

function withinLengths(
  packets: readonly WeightedPacket[],
  { min, max }: { readonly min: number; readonly max: number },
) {
  return packets.filter(({ header }) => header.packetBytes >= min && header.packetBytes <= max);
}
