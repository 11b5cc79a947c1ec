/**
 * Separates the packets of an attack from those of the host's users, in a sample that has both: by what the host received
 * before the attack (its profile), or, where that is not known, by what hosts receive in general. Pure.
 */

import type { TrafficUnit } from "../../detection/attack/classifier.ts";
import { classOf, isOrdinaryClass } from "../../detection/attack/ordinary-traffic.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import type { TrafficProfile } from "../../detection/attack/traffic-profile.ts";
import { isNeverOfUsers } from "./never-of-users.ts";
import { type CellSums, cellSums, cellsOf, NO_PACKETS } from "./packet-cells.ts";
import { ATTACK_SHARE_MIN, EXCESS_FACTOR, PART_PACKETS_MIN } from "./rule-bounds.ts";
import { type SeenTraffic, usersMost } from "./seen-traffic.ts";
import { belowThreshold, isProfiled, servicesLike, unusualPackets, usersAmong } from "./unusual-packets.ts";
import type { UsersTraffic } from "./users-at-risk.ts";
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
/** Packets that a profile may have missed, with a confidence of 95 % (Hanley, Lippman-Hand, 1983). */
const MISSED_PACKETS = 3;

export function separated(seen: SeenTraffic): SeparatedTraffic {
  const all = scaled(
    seen.packets.map((packet) => ({ header: packet.header, weight: weightIn(packet, seen.unit) })),
    1,
  );
  const { profile } = seen;
  if (profile !== null && isProfiled(seen)) return byProfile(all, profile, seen);
  const mostLeft = belowThreshold(seen);
  const attack = unusualPackets(all, seen, [], mostLeft);
  const ofAttack = new Set(attack);
  const others = all.filter((packet) => !ofAttack.has(packet));
  return { all, attack, users: usersAmong(others, all, seen), mostLeft };
}

function weightIn({ standsFor, wireBytes }: SampledPacket, unit: TrafficUnit): number {
  return unit === "bytes" ? standsFor * wireBytes : standsFor;
}

/** Packets alike are of the attack if there are far more of them than users explain. */
function byProfile(all: WeightedPacket[], profile: TrafficProfile, seen: SeenTraffic): SeparatedTraffic {
  const before = scaled(
    profile.packets.map((packet) => ({ header: packet.header, weight: weightIn(packet, seen.unit) })),
    1,
  );
  const [cells = [], cellsBefore = []] = cellsOf([all, before]);
  const [now, then] = [cellSums(all, cells), cellSums(before, cellsBefore)];
  const unseen = before.length < SMALL_PROFILE ? UNSEEN.ofSmall : UNSEEN.usual;
  const explained = (key: string, usersShare: number) => {
    const was = then.get(key) ?? NO_PACKETS;
    // A sample with `count` packets may have missed about twice the square root of `count` by chance.
    return usersShare * (was.weight + (2 * Math.sqrt(was.count) + unseen) / before.length);
  };
  const isExcess = (key: string, usersShare: number) => {
    const { weight, count } = now.get(key) ?? NO_PACKETS;
    const expected = explained(key, usersShare) * all.length;
    const chance = 2 * Math.sqrt(expected) + PART_PACKETS_MIN;
    return count > chance && weight > EXCESS_FACTOR * explained(key, usersShare) + chance / all.length;
  };
  const usersShare = Math.min(shareOfUsers(now, then, isExcess), usersMost(seen));
  const excess = new Set([...now.keys()].filter((key) => isExcess(key, usersShare)));
  const mostLeft = Math.max(belowThreshold(seen), SHARE_SLACK * usersShare);
  const missed = MISSED_PACKETS / before.length;
  const needed = neededOf(
    all.filter((_, i) => excess.has(cells[i] as string)),
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
  const classes = [...Map.groupBy(exceeding, ({ header }) => classOf(header))];
  let left = weightOf(all);
  const needed = new Set<WeightedPacket>();
  const further: (readonly [name: string, packets: readonly WeightedPacket[]])[] = [];
  for (const [name, packets] of classes.sort(([, a], [, b]) => weightOf(b) - weightOf(a))) {
    const isForeign = !isOrdinaryClass(name) && !then.has(name);
    const isEnough = left <= mostLeft && !isForeign;
    if (isEnough && beyond(name) > 0) further.push([name, packets]);
    const taken = isEnough ? packets.filter(({ header }) => isNeverOfUsers(header)) : packets;
    for (const packet of taken) needed.add(packet);
    left -= weightOf(taken);
  }
  const sum = further.reduce((total, [name]) => total + beyond(name), 0);
  if (sum >= ATTACK_SHARE_MIN) for (const [, packets] of further) for (const packet of packets) needed.add(packet);
  return needed;
}

function sumsByClass(packets: readonly WeightedPacket[]): ReadonlyMap<string, number> {
  return new Map(
    [...Map.groupBy(packets, ({ header }) => classOf(header))].map(([name, own]) => [name, weightOf(own)]),
  );
}

/**
 * The share of all traffic that is of users: the packets that are no excess, compared with those of before. Users may
 * have grown since then, and then all of their packets have.
 */
function shareOfUsers(now: CellSums, then: CellSums, isExcess: (key: string, usersShare: number) => boolean): number {
  let usersShare = 1;
  for (let i = 0; i < SHARE_ROUNDS; i++) {
    let [seen, expected] = [0, 0];
    for (const key of new Set([...now.keys(), ...then.keys()])) {
      if (isExcess(key, usersShare)) continue;
      seen += now.get(key)?.weight ?? 0;
      expected += then.get(key)?.weight ?? 0;
    }
    usersShare = expected === 0 ? usersShare : Math.min(1, seen / expected);
  }
  return usersShare;
}
