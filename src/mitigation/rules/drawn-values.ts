/**
 * A flood that draws TCP flags or protocol numbers at random sends mostly such as no user sends, and some that users send,
 * too. These are of the flood if there are no more of them than it makes by chance. Pure.
 */
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { heaviestOf, talliedBy, type WeightedPacket, weightOf } from "./weighted-packet.ts";

const PACKETS_MIN = 32;
const VALUES_MIN = 16;
/** Segments with impossible flags have one length and go to one port, by this share. */
const ALIKE_SHARE = 0.9;
/** Standard deviations (of a count, its square root) that chance adds. */
const CHANCE = 4;
/** Protocols of hosts, and of their tunnels. */
export const USUAL_PROTOCOLS: readonly number[] = [
  ...[IP_PROTOCOL.icmp, IP_PROTOCOL.tcp, IP_PROTOCOL.udp, IP_PROTOCOL.icmpv6],
  ...[IP_PROTOCOL.gre, IP_PROTOCOL.esp],
];

/** @param never packets that no user sends. @returns others that were drawn with them. */
export function drawnAlike(
  all: readonly WeightedPacket[],
  never: readonly WeightedPacket[],
): readonly WeightedPacket[] {
  return [...withFlags(all, never), ...drawn(all, never, unusualProtocol)];
}

function unusualProtocol({ protocol }: PacketHeader): number | null {
  return USUAL_PROTOCOLS.includes(protocol) ? null : protocol;
}

function withFlags(all: readonly WeightedPacket[], never: readonly WeightedPacket[]): readonly WeightedPacket[] {
  const flagsOf = ({ protocol, tcpFlags }: PacketHeader) => (protocol === IP_PROTOCOL.tcp ? tcpFlags : null);
  const segments = never.filter(({ header }) => flagsOf(header) !== null);
  const length = heaviestOf(talliedBy(segments, "packetBytes"));
  const port = heaviestOf(talliedBy(segments, "destinationPort"));
  const least = ALIKE_SHARE * weightOf(segments);
  if (length === null || port === null || Math.min(length.weight, port.weight) < least) return [];
  const isAlike = ({ packetBytes, ports }: PacketHeader) =>
    packetBytes === length.value && ports?.destination === port.value;
  return drawn(all, segments, (header) => (isAlike(header) ? flagsOf(header) : null));
}

/** @param drawnOf null: the packet is none that the flood may have sent. */
function drawn(
  all: readonly WeightedPacket[],
  never: readonly WeightedPacket[],
  drawnOf: (header: PacketHeader) => number | null,
): readonly WeightedPacket[] {
  const own = never.filter(({ header }) => drawnOf(header) !== null);
  const values = new Set(own.map(({ header }) => drawnOf(header))).size;
  if (own.length < PACKETS_MIN || values < VALUES_MIN) return [];
  const known = new Set(never);
  const others = all.filter((packet) => !known.has(packet) && drawnOf(packet.header) !== null);
  const mean = own.length / values;
  const most = mean + CHANCE * Math.sqrt(mean) + 1;
  return [...Map.groupBy(others, ({ header }) => drawnOf(header)).values()].flatMap((packets) =>
    packets.length <= most ? packets : [],
  );
}
