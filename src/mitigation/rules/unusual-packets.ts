/**
 * Separates the packets of an attack from those of users where the host's traffic before the attack is not known: by the
 * classes of packets that users of any host send, and by what is frequent in them. Pure.
 */
import { vectorOf } from "../../detection/attack/classifier.ts";
import {
  classOf,
  classShares,
  isOrdinaryClass,
  ordinaryPackets,
  unusualClasses,
} from "../../detection/attack/ordinary-traffic.ts";
import { reflectedPort } from "../../detection/attack/vector.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { PROFILE_PACKETS_MIN } from "./rule-bounds.ts";
import type { SeenTraffic } from "./seen-traffic.ts";
import { scaled, type WeightedPacket, weightOf, weightsBy } from "./weighted-packet.ts";

/** Packets are of the attack if their class has more of the traffic than in the traffic of hosts in general. */
export function unusualPackets(
  all: readonly WeightedPacket[],
  { classification, direction, packets, timesThreshold }: SeenTraffic,
): { readonly attack: readonly WeightedPacket[]; readonly users: readonly WeightedPacket[] } {
  const attacking = unusualClasses(classShares(packets), timesThreshold);
  const parts = new Set<string | null>(classification?.parts.map(({ type }) => type));
  const isAttack =
    attacking.size > 0
      ? withCommonTarget(all, concentrated(all, attacking, timesThreshold))
      : ({ header }: WeightedPacket) => parts.has(vectorOf(header));
  const attack = all.filter(isAttack);
  const others = all.filter((packet) => !isAttack(packet));
  // Other packets are of users; a few of them show few of the host's services.
  const shown = others.length >= PROFILE_PACKETS_MIN ? 0.7 : others.length > 0 ? 0.3 : 0;
  // What is known of services is of what they receive.
  const known = direction === "incoming" ? servicesLike(all, 1 - shown) : [];
  const users = [...scaled(others, shown), ...known];
  return { attack, users };
}

/** Lengths with less than this part of the packets of the most frequent length are of users: at first most lengths. */
const FAR_BELOW = [0.6, 0.25] as const;
/** The share of a class that its frequent lengths have, if the attack has a few lengths. */
const CONCENTRATED_SHARE = 0.6;
/** The part of the threshold that users reached before the attack at most: if no more is left, the attack is stopped. */
const USERS_OF_THRESHOLD = 0.8;

type IsAttack = (packet: WeightedPacket) => boolean;

/** The packets of these classes; of a class that users send too, those of few frequent lengths if that is enough. */
function concentrated(all: readonly WeightedPacket[], classes: ReadonlySet<string>, timesThreshold: number): IsAttack {
  const byClass = Map.groupBy(all, ({ header }) => classOf(header));
  let isAttack: IsAttack = ({ header }) => classes.has(classOf(header));
  for (const farBelow of FAR_BELOW) {
    const lengths = new Map([...byClass].map(([name, packets]) => [name, frequentLengths(packets, farBelow)]));
    isAttack = ({ header }) => {
      const name = classOf(header);
      const frequent = areLengthsOfUsers(name, header) ? lengths.get(name) : null;
      return classes.has(name) && (frequent?.has(header.packetBytes) ?? true);
    };
    const left = weightOf(all.filter((packet) => !isAttack(packet)));
    if (left <= USERS_OF_THRESHOLD / timesThreshold) break;
  }
  return isAttack;
}

/** Packets of an amplifier's port, and fragments, are of the attack whatever their lengths are. */
function areLengthsOfUsers(name: string, header: PacketHeader): boolean {
  const vector = vectorOf(header);
  return isOrdinaryClass(name) && header.fragment === null && (vector === null || reflectedPort(vector) === null);
}

/** null: the lengths are many. */
function frequentLengths(packets: readonly WeightedPacket[], farBelow: number): ReadonlySet<number> | null {
  const weights = weightsBy(packets, ({ packetBytes }) => packetBytes);
  const heaviest = Math.max(...weights.values());
  const frequent = [...weights].filter(([, weight]) => weight >= farBelow * heaviest);
  const share = frequent.reduce((sum, [, weight]) => sum + weight, 0) / weightOf(packets);
  return share >= CONCENTRATED_SHARE ? new Set(frequent.map(([length]) => length)) : null;
}

/** The share of an attack's UDP packets to one port from which all UDP packets to it are of the attack. */
const COMMON_TARGET_SHARE = 0.3;
const QUIC_PORT = 443;

/** Reflectors answer to the ports from which the forged requests came, whatever service they answer from. */
function withCommonTarget(all: readonly WeightedPacket[], isAttack: IsAttack): IsAttack {
  const udp = all.filter((packet) => packet.header.protocol === IP_PROTOCOL.udp && isAttack(packet));
  const total = weightOf(udp);
  const targets = new Set<number | undefined>();
  for (const [port, weight] of weightsBy(udp, ({ ports }) => ports?.destination ?? null)) {
    if (port !== QUIC_PORT && weight >= COMMON_TARGET_SHARE * total) targets.add(port);
  }
  return (packet: WeightedPacket) =>
    isAttack(packet) || (packet.header.protocol === IP_PROTOCOL.udp && targets.has(packet.header.ports?.destination));
}

/** Packets of common services, which a profile may not show. */
export function servicesLike([first]: readonly WeightedPacket[], share: number): WeightedPacket[] {
  if (first === undefined) return [];
  return scaled(
    ordinaryPackets(first.header).map((header) => ({ header, weight: 1 })),
    share,
  );
}
