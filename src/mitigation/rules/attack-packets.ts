/**
 * Separates the packets of an attack from those of the host's users, in a sample that has both: by what the host received
 * before the attack (its profile), or, where that is not known, by what hosts receive in general. Pure.
 */

import type { TrafficUnit } from "../../detection/attack/classifier.ts";
import { isOrdinaryClass } from "../../detection/attack/ordinary-traffic.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import type { TrafficProfile } from "../../detection/attack/traffic-profile.ts";
import { flatHeader } from "./flat-header.ts";
import { cellsOf, type PacketCells } from "./packet-cells.ts";
import { ATTACK_SHARE_MIN, EXCESS_FACTOR, PART_PACKETS_MIN } from "./rule-bounds.ts";
import { type SeenTraffic, usersMost } from "./seen-traffic.ts";
import { belowThreshold, isProfiled, servicesLike, unusualPackets, usersAmong } from "./unusual-packets.ts";
import type { UsersTraffic } from "./users-at-risk.ts";
import { MISSED_PACKETS } from "./users-at-risk.ts";
import { scaled, type WeightedPacket, weightOf } from "./weighted-packet.ts";

export interface SeparatedTraffic {
  /** Weights are shares of all traffic. */
  readonly all: readonly WeightedPacket[];
  readonly attack: readonly WeightedPacket[];
  /** The users' traffic, now or before. */
  readonly users: UsersTraffic;
  /** The share of all traffic that may be left: below the threshold, or, where users are known, as many as they are. */
  readonly mostLeft: number;
}

/**
 * Packets alike that chance may have left out of a profile that shows none of them: one as a rule, and three at most with
 * 95 % (Hanley, Lippman-Hand, 1983) where the profile is so small that this matters for some of the many kinds.
 */
const UNSEEN = { usual: 1, ofSmall: 3 } as const;
const SMALL_PROFILE = 256;
/** Rounds in which the share of users is found: each leaves out more of the attack. */
const SHARE_ROUNDS = 6;
/** The share of users is known no better. */
const SHARE_SLACK = 1.1;

export function separated(seen: SeenTraffic): SeparatedTraffic {
  const all = weighted(seen.packets, seen.unit);
  const { profile } = seen;
  if (profile !== null && isProfiled(seen)) return byProfile(all, profile, seen);
  const mostLeft = belowThreshold(seen);
  const attack = unusualPackets(all, seen, [], mostLeft);
  const ofAttack = new Set(attack);
  const others = all.filter((packet) => !ofAttack.has(packet));
  return { all, attack, users: usersAmong(others, all, seen), mostLeft };
}

/** With their shares of all of the packets. */
function weighted(packets: readonly SampledPacket[], unit: TrafficUnit): WeightedPacket[] {
  const weightIn = ({ standsFor, wireBytes }: SampledPacket) => (unit === "bytes" ? standsFor * wireBytes : standsFor);
  let total = 0;
  for (const packet of packets) total += weightIn(packet);
  const factor = 1 / (total || 1);
  return packets.map((packet) => ({ header: flatHeader(packet.header), weight: weightIn(packet) * factor }));
}

/** Packets alike are of the attack if there are far more of them than users explain. */
function byProfile(all: WeightedPacket[], profile: TrafficProfile, seen: SeenTraffic): SeparatedTraffic {
  const before = weighted(profile.packets, seen.unit);
  const [now, then] = cellsOf([all, before]);
  const exceeds = excessOver(now, then, all.length, before.length);
  const usersShare = Math.min(shareOfUsers(now, then, exceeds), usersMost(seen));
  const excess = now.weights.map((_, cell) => Number(exceeds(cell, usersShare)));
  const mostLeft = Math.max(belowThreshold(seen), SHARE_SLACK * usersShare);
  const missed = MISSED_PACKETS / before.length;
  const needed = neededOf(
    all.filter((_, i) => excess[now.cells[i] as number] === 1),
    // No more than users are: beside them, there is room for a small part of the attack.
    { all, before, mostLeft: Math.max(belowThreshold(seen), usersShare), usersShare },
  );
  const exceeding = all.filter((packet) => needed.has(packet));
  return {
    all,
    // A flood that has been growing slowly is in the profile: what it explains is more than users were then.
    attack: unusualPackets(all, seen, exceeding, mostLeft),
    mostLeft,
    users: { seen: scaled(before, 1 - missed), assumed: servicesLike(all, missed), areOthers: false },
  };
}

type Exceeds = (cell: number, usersShare: number) => boolean;

/** Whether a cell has far more than users explain, if they are a share of all traffic. */
function excessOver(now: PacketCells, then: PacketCells, packets: number, packetsBefore: number): Exceeds {
  const unseen = packetsBefore < SMALL_PROFILE ? UNSEEN.ofSmall : UNSEEN.usual;
  // A sample with `count` packets may have missed about twice the square root of `count` by chance.
  const known = then.weights.map(
    (weight, cell) => weight + (2 * Math.sqrt(then.counts[cell] as number) + unseen) / packetsBefore,
  );
  return (cell, usersShare) => {
    const explained = usersShare * (known[cell] as number);
    const chance = 2 * Math.sqrt(explained * packets) + PART_PACKETS_MIN;
    const isMore = (now.counts[cell] as number) > chance;
    return isMore && (now.weights[cell] as number) > EXCESS_FACTOR * explained + chance / packets;
  };
}

interface Compared {
  readonly all: readonly WeightedPacket[];
  readonly before: readonly WeightedPacket[];
  readonly mostLeft: number;
  readonly usersShare: number;
}

/**
 * By classes, the largest first, until no more is left than may be. Users change what they send, too: further classes are
 * of the attack only if no host's users send them and those of this host did not, or if as a whole they exceed what users
 * explain, by a part of the traffic that is worth a rule.
 */
function neededOf(
  exceeding: readonly WeightedPacket[],
  { all, before, mostLeft, usersShare }: Compared,
): ReadonlySet<WeightedPacket> {
  const [now, then] = [sumsByClass(all), sumsByClass(before)];
  const beyond = (name: string) => (now.get(name) ?? 0) - EXCESS_FACTOR * usersShare * (then.get(name) ?? 0);
  const classes = [...Map.groupBy(exceeding, ({ header }) => header.class)];
  let left = weightOf(all);
  const needed = new Set<WeightedPacket>();
  const further: (readonly [name: string, packets: readonly WeightedPacket[]])[] = [];
  for (const [name, packets] of classes.sort(([, a], [, b]) => weightOf(b) - weightOf(a))) {
    const isForeign = !isOrdinaryClass(name) && !then.has(name);
    const isEnough = left <= mostLeft && !isForeign;
    if (isEnough && beyond(name) > 0) further.push([name, packets]);
    const taken = isEnough ? packets.filter(({ header }) => header.isNever) : packets;
    for (const packet of taken) needed.add(packet);
    left -= weightOf(taken);
  }
  const sum = further.reduce((total, [name]) => total + beyond(name), 0);
  if (sum >= ATTACK_SHARE_MIN) for (const [, packets] of further) for (const packet of packets) needed.add(packet);
  return needed;
}

function sumsByClass(packets: readonly WeightedPacket[]): ReadonlyMap<string, number> {
  return new Map([...Map.groupBy(packets, ({ header }) => header.class)].map(([name, own]) => [name, weightOf(own)]));
}

/**
 * The share of all traffic that is of users: the packets that are no excess, compared with those of before. Users may
 * have grown since then, and then all of their packets have.
 */
function shareOfUsers(now: PacketCells, then: PacketCells, exceeds: Exceeds): number {
  let usersShare = 1;
  for (let i = 0; i < SHARE_ROUNDS; i++) {
    let [seen, expected] = [0, 0];
    for (let cell = 0; cell < now.weights.length; cell++) {
      if (exceeds(cell, usersShare)) continue;
      seen += now.weights[cell] as number;
      expected += then.weights[cell] as number;
    }
    const next = expected === 0 ? usersShare : Math.min(1, seen / expected);
    if (next === usersShare) break;
    usersShare = next;
  }
  return usersShare;
}
