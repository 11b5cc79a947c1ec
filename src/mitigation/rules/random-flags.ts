/**
 * Segments whose flags a flood draws at random: most have flags that no system combines, and some have flags that users
 * send too. These are of the flood if they are no more than it makes by chance. Pure.
 */
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import { heaviestOf, type WeightedPacket, weightOf } from "./weighted-packet.ts";

const PACKETS_MIN = 32;
/** The segments with impossible flags have one length and go to one port, by this share. */
const ALIKE_SHARE = 0.9;
const COMBINATIONS_MIN = 16;
/** Standard deviations (of a count, its square root) that chance adds. */
const CHANCE = 3;

/** @param never packets that no user sends. @returns packets beside these. */
export function withRandomFlags(
  all: readonly WeightedPacket[],
  never: readonly WeightedPacket[],
): readonly WeightedPacket[] {
  const segments = never.filter(({ header }) => header.protocol === IP_PROTOCOL.tcp && header.tcpFlags !== null);
  const length = heaviestOf(segments, ({ packetBytes }) => packetBytes);
  const port = heaviestOf(segments, ({ ports }) => ports?.destination ?? null);
  const combinations = new Set(segments.map(({ header }) => header.tcpFlags)).size;
  const least = ALIKE_SHARE * weightOf(segments);
  if (segments.length < PACKETS_MIN || combinations < COMBINATIONS_MIN || length === null || port === null) return [];
  if (length.weight < least || port.weight < least) return [];
  const known = new Set(never);
  const alike = all.filter(({ header }) => {
    const isSegment = header.protocol === IP_PROTOCOL.tcp && header.tcpFlags !== null;
    return isSegment && header.packetBytes === length.value && header.ports?.destination === port.value;
  });
  const others = alike.filter((packet) => !known.has(packet));
  const mean = segments.length / combinations;
  const byFlags = Map.groupBy(others, ({ header }) => header.tcpFlags);
  return [...byFlags.values()].every((packets) => packets.length <= mean + CHANCE * Math.sqrt(mean) + 1) ? others : [];
}
