/**
 * Separates the packets of an attack from those of users if the host has no profile: packets that no user sends, the
 * kinds that the classification names, and then what is most unusual, until the rest is below the threshold, as users
 * were before the attack. Pure.
 */
import { vectorOf } from "../../detection/attack/classifier.ts";
import { classOf, ordinaryPackets, timesOrdinary } from "../../detection/attack/ordinary-traffic.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { bulkOf, likeBulk, ofReturningSources } from "./attack-bulk.ts";
import { servicePackets } from "./configured-services.ts";
import { drawnAlike } from "./drawn-values.ts";
import { isNeverOfUsers } from "./never-of-users.ts";
import { PROFILE_PACKETS_MIN } from "./rule-bounds.ts";
import { type SeenTraffic, usersMost } from "./seen-traffic.ts";
import type { UsersTraffic } from "./users-at-risk.ts";
import { scaled, type WeightedPacket, weightOf } from "./weighted-packet.ts";

/** Users may have been just below the threshold; an attack is over before what is left is just below it. */
const CALM_PART = 0.9;
/** The weight of common services beside users that are seen, some and few. */
const SERVICES_SHARE = { some: 0.3, few: 0.7 } as const;
/** A smaller part of the traffic is not one by which an attack is named. */
const NAMED_SHARE_MIN = 0.1;

/** The share of all traffic that may be left: users were below the threshold before. */
export function belowThreshold({ timesThreshold }: SeenTraffic): number {
  return CALM_PART / timesThreshold;
}

/** Whether the host's traffic before the attack shows what its users send. */
export function isProfiled({ profile }: SeenTraffic): boolean {
  return profile !== null && profile.packets.length >= PROFILE_PACKETS_MIN;
}

/**
 * @param before packets that are taken for the attack already: of these kinds alone there may be enough.
 * @param most the share of all traffic that may be left.
 */
export function unusualPackets(
  all: readonly WeightedPacket[],
  seen: SeenTraffic,
  before: readonly WeightedPacket[],
  most: number,
): readonly WeightedPacket[] {
  const attack = new Set(before);
  const isOver = () => weightOf(all) - weightOf([...attack]) > most;
  const take = (packets: readonly WeightedPacket[]) => {
    const mostUsers = Math.min(most, usersMost(seen));
    const bulk = bulkOf(packets, mostUsers);
    const alike = bulk.length > 0 ? likeBulk(all, bulk) : packets;
    const returning = ofReturningSources(alike);
    const spared = new Set(weightOf(returning) <= mostUsers ? returning : []);
    for (const packet of alike) if (!spared.has(packet)) attack.add(packet);
  };
  if (isProfiled(seen) && !isOver()) return before;
  if (seen.direction === "incoming") {
    const never = all.filter(({ header }) => isNeverOfUsers(header));
    for (const packet of [...never, ...drawnAlike(all, never)]) attack.add(packet);
  }
  const parts = new Set<string | null>(seen.classification?.parts.map(({ type }) => type));
  const isNamed = ({ packets, times }: Group) => {
    const [first] = packets;
    const isLarge = times > 1 && weightOf(packets) >= NAMED_SHARE_MIN;
    if (first === undefined || !isLarge) return false;
    // Later fragments of answers show no port.
    return parts.has(vectorOf(first.header)) || (first.header.fragment === "later" && isCut(attack));
  };
  const classes = new Map(all.map((packet) => [packet, classOf(packet.header)]));
  if (before.length === 0) for (const { packets } of groupsOf(classes, attack).filter(isNamed)) take(packets);
  // One after the other: without the most unusual class, the others have a larger share of the rest.
  while (isOver()) {
    const [group] = groupsOf(classes, attack).sort((a, b) => b.times - a.times);
    if (group === undefined) break;
    take(group.packets);
  }
  return all.filter((packet) => attack.has(packet));
}

function isCut(attack: ReadonlySet<WeightedPacket>): boolean {
  return attack.values().some(({ header }) => header.fragment === "first");
}

/** The users' traffic: the packets that are not of the attack, and common services. */
export function usersAmong(
  others: readonly WeightedPacket[],
  all: readonly WeightedPacket[],
  { direction, services = null }: SeenTraffic,
): UsersTraffic {
  const share = others.length >= PROFILE_PACKETS_MIN ? SERVICES_SHARE.some : SERVICES_SHARE.few;
  // Common services are known by what they receive.
  const assumed = direction === "incoming" ? servicesLike(all, others.length === 0 ? 1 : share, services) : [];
  return { seen: scaled(others, 1 - weightOf(assumed)), assumed, areOthers: true };
}

interface Group {
  readonly packets: readonly WeightedPacket[];
  /** How much more it has than users send. */
  readonly times: number;
}

/** The packets that are not taken for the attack yet, by class. @param classes of all packets. */
function groupsOf(classes: ReadonlyMap<WeightedPacket, string>, attack: ReadonlySet<WeightedPacket>): Group[] {
  const left = [...classes.keys()].filter((packet) => !attack.has(packet));
  const total = weightOf(left) || 1;
  return [...Map.groupBy(left, (packet) => classes.get(packet) as string)].map(([name, packets]) => {
    return { packets, times: timesOrdinary(name, weightOf(packets) / total, packets.length) };
  });
}

/** Packets of common services, which a profile may not show, or of those that are configured. */
export function servicesLike(
  [first]: readonly WeightedPacket[],
  share: number,
  services: SeenTraffic["services"] = null,
): WeightedPacket[] {
  if (first === undefined) return [];
  const packets = services === null ? ordinaryPackets(first.header) : servicePackets(services, first.header);
  return scaled(
    packets.map((header: PacketHeader) => ({ header, weight: 1 })),
    share,
  );
}
