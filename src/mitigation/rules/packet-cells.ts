/**
 * Groups packets that are alike, in the packets of now and of before: of the same kind, with the same ports and length
 * where many packets have these. Pure.
 */
import { vectorOf } from "../../detection/attack/classifier.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { HEAVY_LENGTH_SHARE, HEAVY_PACKETS_MIN, HEAVY_PORT_SHARE } from "./rule-bounds.ts";
import type { WeightedPacket } from "./weighted-packet.ts";

export interface CellSum {
  readonly weight: number;
  readonly count: number;
}

export type CellSums = ReadonlyMap<string, CellSum>;

export const NO_PACKETS: CellSum = { weight: 0, count: 0 };

/** Upper ends of the groups in which lengths are compared that few packets have, bytes. */
const LENGTH_GROUPS = [64, 128, 256, 512, 1024, 1400] as const;
/** More than any port or length. */
const VALUES = 65_536;

/** A value of a header together with what it is a value of, as one number; null: the header has none. */
type NumberOf = (header: PacketHeader) => number | null;

/** The cells of the packets of both samples, in their order. */
export function cellsOf(samples: readonly (readonly WeightedPacket[])[]): string[][] {
  const kinds = new Map<string, number>();
  const kindOf = (header: PacketHeader) => {
    const name = vectorOf(header) ?? `${header.protocol}`;
    const known = kinds.get(name);
    if (known === undefined) kinds.set(name, kinds.size);
    return known ?? kinds.size - 1;
  };
  const sourceOf: NumberOf = ({ protocol, ports }) => (ports === null ? null : protocol * VALUES + ports.source);
  const destinationOf: NumberOf = ({ protocol, ports }) =>
    ports === null ? null : protocol * VALUES + ports.destination;
  const lengthOf: NumberOf = (header) => kindOf(header) * VALUES + header.packetBytes;
  const sources = heavyValues(samples, sourceOf, HEAVY_PORT_SHARE);
  const destinations = heavyValues(samples, destinationOf, HEAVY_PORT_SHARE);
  const lengths = heavyValues(samples, lengthOf, HEAVY_LENGTH_SHARE);
  const cellOf = ({ header }: WeightedPacket) => {
    const { packetBytes, tcpFlags, fragment } = header;
    const from = sourceOf(header);
    const to = destinationOf(header);
    const isHeavyLength = lengths.has(lengthOf(header) ?? -1);
    const length = isHeavyLength ? packetBytes : LENGTH_GROUPS.findIndex((end) => packetBytes < end) - VALUES;
    const ports = `${from !== null && sources.has(from) ? from : ""}>${to !== null && destinations.has(to) ? to : ""}`;
    return `${kindOf(header)} ${tcpFlags} ${fragment} ${ports} ${length}`;
  };
  return samples.map((packets) => packets.map(cellOf));
}

/** Values that many packets of one of the samples have, of those with values of the same protocol or kind. */
function heavyValues(
  samples: readonly (readonly WeightedPacket[])[],
  numberOf: NumberOf,
  shareLeast: number,
): ReadonlySet<number> {
  const heavy = new Set<number>();
  for (const packets of samples) {
    const totals = new Map<number, number>();
    const sums = new Map<number, { weight: number; count: number }>();
    for (const { header, weight } of packets) {
      const value = numberOf(header);
      if (value === null) continue;
      addTo(sums, value, weight);
      const of = Math.floor(value / VALUES);
      totals.set(of, (totals.get(of) ?? 0) + weight);
    }
    for (const [value, { weight, count }] of sums) {
      const total = totals.get(Math.floor(value / VALUES)) ?? 0;
      if (count >= HEAVY_PACKETS_MIN && weight >= shareLeast * total) heavy.add(value);
    }
  }
  return heavy;
}

/** @param cells of the packets, in their order. */
export function cellSums(packets: readonly WeightedPacket[], cells: readonly string[]): CellSums {
  const sums = new Map<string, { weight: number; count: number }>();
  for (const [i, { weight }] of packets.entries()) addTo(sums, cells[i] as string, weight);
  return sums;
}

function addTo<K>(sums: Map<K, { weight: number; count: number }>, key: K, weight: number): void {
  const sum = sums.get(key);
  if (sum === undefined) sums.set(key, { weight, count: 1 });
  else {
    sum.weight += weight;
    sum.count++;
  }
}
