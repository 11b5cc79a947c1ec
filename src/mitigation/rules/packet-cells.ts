/**
 * Groups packets that are alike, in the packets of now and of before: of the same kind, with the same ports and length
 * where many packets have these. Pure.
 */
import { type FlatHeader, NONE } from "./flat-header.ts";
import { HEAVY_LENGTH_SHARE, HEAVY_PACKETS_MIN, HEAVY_PORT_SHARE } from "./rule-bounds.ts";
import { Tally } from "./tally.ts";
import type { WeightedPacket } from "./weighted-packet.ts";

/** The packets of one sample by cell. */
export interface PacketCells {
  /** The cell of each packet, in their order: numbers from 0 on, in the order of the first packet of each. */
  readonly cells: readonly number[];
  /** By cell, also those of the other sample alone. */
  readonly weights: Float64Array;
  readonly counts: Int32Array;
}

type Samples = readonly [readonly WeightedPacket[], readonly WeightedPacket[]];

/** Upper ends of the groups in which lengths are compared that few packets have, bytes. */
const LENGTH_GROUPS = [64, 128, 256, 512, 1024, 1400] as const;
/** More than any port or length; cells are fewer than packets, which are fewer, too. */
const VALUES = 65_536;
/** Lengths, and the groups of lengths. */
const LENGTHS = VALUES + LENGTH_GROUPS.length + 1;
const FLAGS = 0x100 + 1;
const FRAGMENTS = [null, "first", "later"] as const;

/** A value of a header together with what it is a value of, as one number; NONE: the header has none. */
type NumberOf = (header: FlatHeader) => number;

const sourceOf: NumberOf = ({ protocol, sourcePort }) => (sourcePort === NONE ? NONE : protocol * VALUES + sourcePort);
const destinationOf: NumberOf = ({ protocol, destinationPort }) =>
  destinationPort === NONE ? NONE : protocol * VALUES + destinationPort;

/** The cells of two samples, which are the same for both. */
export function cellsOf(samples: Samples): readonly [PacketCells, PacketCells] {
  const kinds = new Map<string | number, number>();
  const kindOf = ({ vector, protocol }: FlatHeader) => {
    const known = kinds.get(vector ?? protocol);
    if (known === undefined) kinds.set(vector ?? protocol, kinds.size);
    return known ?? kinds.size - 1;
  };
  const lengthOf: NumberOf = (header) => kindOf(header) * VALUES + header.packetBytes;
  const sources = heavyValues(samples, sourceOf, HEAVY_PORT_SHARE);
  const destinations = heavyValues(samples, destinationOf, HEAVY_PORT_SHARE);
  const lengths = heavyValues(samples, lengthOf, HEAVY_LENGTH_SHARE);
  const alike = new Tally();
  const cells = new Tally();
  const cellOf = ({ header, weight }: WeightedPacket) => {
    const { packetBytes, flags, fragment } = header;
    const isHeavy = lengths.has(lengthOf(header));
    const length = isHeavy
      ? Math.min(packetBytes, VALUES - 1)
      : VALUES + 1 + LENGTH_GROUPS.findIndex((end) => packetBytes < end);
    const kind = (kindOf(header) * FLAGS + flags + 1) * FRAGMENTS.length + FRAGMENTS.indexOf(fragment);
    const [from, to] = [sources.get(sourceOf(header)) ?? 0, destinations.get(destinationOf(header)) ?? 0];
    return cells.add((alike.add(kind * LENGTHS + length, weight) * VALUES + from) * VALUES + to, weight);
  };
  const [now, before] = [samples[0].map(cellOf), samples[1].map(cellOf)];
  return [cellSums(samples[0], now, cells.size), cellSums(samples[1], before, cells.size)];
}

/** Values that many packets of one of the samples have, of those with values of the same protocol or kind: each from 1 on. */
function heavyValues(samples: Samples, numberOf: NumberOf, shareLeast: number): ReadonlyMap<number, number> {
  const heavy = new Map<number, number>();
  for (const packets of samples) {
    const totals = new Tally();
    const sums = new Tally();
    for (const { header, weight } of packets) {
      const value = numberOf(header);
      if (value === NONE) continue;
      sums.add(value, weight);
      totals.add(Math.floor(value / VALUES), weight);
    }
    for (let i = 0; i < sums.size; i++) {
      if ((sums.counts[i] as number) < HEAVY_PACKETS_MIN) continue;
      const value = sums.values[i] as number;
      const isHeavy = (sums.weights[i] as number) >= shareLeast * totals.weightOf(Math.floor(value / VALUES));
      if (isHeavy && !heavy.has(value)) heavy.set(value, heavy.size + 1);
    }
  }
  return heavy;
}

function cellSums(packets: readonly WeightedPacket[], cells: readonly number[], size: number): PacketCells {
  const [weights, counts] = [new Float64Array(size), new Int32Array(size)];
  for (let i = 0; i < packets.length; i++) {
    const cell = cells[i] as number;
    weights[cell] = (weights[cell] as number) + (packets[i] as WeightedPacket).weight;
    counts[cell] = (counts[cell] as number) + 1;
  }
  return { cells, weights, counts };
}
