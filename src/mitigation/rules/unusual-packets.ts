/**
 * Separates the packets of an attack from those of users if the host has no profile: packets that no user sends, the
 * kinds that the classification names, and then what is most unusual, until the rest is below the threshold, as users
 * were before the attack. Pure.
 */
import { ordinaryPackets, timesOrdinary } from "../../detection/attack/ordinary-traffic.ts";
import { addressFamily } from "../../net/address.ts";
import { bulkOf, likeBulk, ofReturningSources } from "./attack-bulk.ts";
import { servicePackets } from "./configured-services.ts";
import { drawnAlike } from "./drawn-values.ts";
import { FlatHeader } from "./flat-header.ts";
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
  const attack = new Taken(all, before);
  if (isProfiled(seen) && attack.left <= most) return before;
  const mostUsers = Math.min(most, usersMost(seen));
  const take = (packets: readonly WeightedPacket[]) => {
    const bulk = bulkOf(packets, mostUsers);
    const alike = bulk.length > 0 ? likeBulk(all, bulk) : packets;
    const returning = ofReturningSources(alike);
    const spared = new Set(weightOf(returning) <= mostUsers ? returning : []);
    attack.add(spared.size === 0 ? alike : alike.filter((packet) => !spared.has(packet)));
  };
  if (seen.direction === "incoming") {
    const never = all.filter(({ header }) => header.isNever);
    attack.add(never);
    attack.add(drawnAlike(all, never));
  }
  const parts = new Set<string | null>(seen.classification?.parts.map(({ type }) => type));
  const isNamed = ({ packets, times }: Group) => {
    const [first] = packets;
    const isLarge = times > 1 && weightOf(packets) >= NAMED_SHARE_MIN;
    if (first === undefined || !isLarge) return false;
    // Later fragments of answers show no port.
    return parts.has(first.header.vector) || (first.header.fragment === "later" && attack.isCut);
  };
  if (before.length === 0) for (const { packets } of groupsOf(attack.others()).filter(isNamed)) take(packets);
  // One after the other: without the most unusual class, the others have a larger share of the rest.
  while (attack.left > most) {
    const groups = groupsOf(attack.others());
    if (groups.length === 0) break;
    take(groups.reduce((a, b) => (b.times > a.times ? b : a)).packets);
  }
  return attack.packets();
}

/** The packets that are taken for the attack, of all. */
class Taken {
  readonly #all: readonly WeightedPacket[];
  readonly #taken = new Set<WeightedPacket>();
  readonly #total: number;
  #weight = 0;

  constructor(all: readonly WeightedPacket[], before: readonly WeightedPacket[]) {
    this.#all = all;
    this.#total = weightOf(all);
    this.add(before);
  }

  /** The weight of the others. */
  get left(): number {
    return this.#total - this.#weight;
  }

  /** Whether one of them is the first fragment of a datagram. */
  get isCut(): boolean {
    return this.#taken.values().some(({ header }) => header.fragment === "first");
  }

  add(packets: readonly WeightedPacket[]): void {
    for (const packet of packets) {
      if (this.#taken.has(packet)) continue;
      this.#taken.add(packet);
      this.#weight += packet.weight;
    }
  }

  packets(): readonly WeightedPacket[] {
    return this.#all.filter((packet) => this.#taken.has(packet));
  }

  others(): readonly WeightedPacket[] {
    return this.#all.filter((packet) => !this.#taken.has(packet));
  }
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

/** The packets by class. */
function groupsOf(packets: readonly WeightedPacket[]): Group[] {
  const total = weightOf(packets) || 1;
  return [...Map.groupBy(packets, ({ header }) => header.class)].map(([name, own]) => {
    return { packets: own, times: timesOrdinary(name, weightOf(own) / total, own.length) };
  });
}

/** Packets of common services, which a profile may not show, or of those that are configured. */
export function servicesLike(
  [first]: readonly WeightedPacket[],
  share: number,
  services: SeenTraffic["services"] = null,
): WeightedPacket[] {
  if (first === undefined) return [];
  const { header: like } = first;
  const headers = services === null ? commonTo(addressFamily(like.destination), like) : servicePackets(services, like);
  const weight = share / headers.length;
  return headers.map((header) => ({ header: new FlatHeader(header, like), weight }));
}

const COMMON = new Map<4 | 6, readonly FlatHeader[]>();

/** The packets of common services, which differ in their addresses alone. @param like a packet of the family. */
function commonTo(family: 4 | 6, like: FlatHeader): readonly FlatHeader[] {
  const known = COMMON.get(family) ?? ordinaryPackets(like).map((header) => new FlatHeader(header));
  COMMON.set(family, known);
  return known;
}
