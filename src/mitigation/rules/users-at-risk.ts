/** How much of the users' packets a rule matches, estimated from a sample of them. Pure. */

import type { Range } from "../../net/range.ts";
import { changeMatcher } from "./change-matcher.ts";
import type { FlatHeader } from "./flat-header.ts";
import { ruleMatches } from "./match.ts";
import type { Rule } from "./rule.ts";
import { USERS_MATCHED_MAX } from "./rule-bounds.ts";
import { type WeightedPacket, weightOf } from "./weighted-packet.ts";

/** Packets that a profile or a sample which shows none may have missed, with a confidence of 95 % (Hanley, Lippman-Hand, 1983). */
export const MISSED_PACKETS = 3;

/** The users' traffic; the weights of both parts add up to 1. */
export interface UsersTraffic {
  /** Packets that were seen. */
  readonly seen: readonly WeightedPacket[];
  /** Packets of common services, which the seen ones may not show. */
  readonly assumed: readonly WeightedPacket[];
  /** The seen ones are what is left of the traffic without the attack, so that users who look like it are missing. */
  readonly areOthers: boolean;
}

/** Longer packets are rare, bytes. */
const LENGTH_USUAL_MAX = 1500;
/** If few packets were seen, a single one up to this share may be chance. */
const TOLERATED_MAX = 0.01;
const CHANCE_PACKETS = 1.2;

export class UsersAtRisk {
  readonly #traffic: UsersTraffic;
  #packets: readonly WeightedPacket[] | null = null;
  /** The share that a rule may match and still counts as sparing users. */
  readonly tolerated: number;

  constructor(traffic: UsersTraffic) {
    this.#traffic = traffic;
    const seen = Math.max(1, traffic.seen.length);
    this.tolerated = Math.max(USERS_MATCHED_MAX, Math.min(TOLERATED_MAX, CHANCE_PACKETS / seen));
  }

  get packets(): readonly WeightedPacket[] {
    this.#packets ??= [...this.#traffic.seen, ...this.#traffic.assumed];
    return this.#packets;
  }

  get seenCount(): number {
    return this.#traffic.seen.length;
  }

  /** Those that match but for the length, among which the rule may be narrowed further. */
  near(rule: Rule): UsersAtRisk {
    return this.#some(isMatchedButForLength(rule));
  }

  /** The same for users that are those of near() for a rule: of the rule with this change. */
  nearWith(change: Partial<Rule>): UsersAtRisk {
    return change.packetLengths === undefined ? this.#some(changeMatcher(change)) : this;
  }

  /** The share of all of them. */
  get share(): number {
    return weightOf(this.#traffic.seen) + weightOf(this.#traffic.assumed);
  }

  /** The share matched at most. */
  matched(rule: Rule): number {
    const isNear = isMatchedButForLength(rule);
    const [length] = rule.packetLengths;
    if (length !== undefined) return this.#some(isNear).#within(length);
    const { seen, assumed } = this.#traffic;
    return weightOfThose(seen, isNear) + weightOfThose(assumed, isNear);
  }

  /**
   * The same for users that are those of near() for a rule: of the rule with this change.
   * @param lengths of the changed rule.
   */
  matchedWith(change: Partial<Rule>, [length]: readonly Range[]): number {
    if (length !== undefined) return this.nearWith(change).#within(length);
    const { seen, assumed } = this.#traffic;
    return weightMatchedWith(change, seen) + weightMatchedWith(change, assumed);
  }

  #some(isOne: (header: FlatHeader) => boolean): UsersAtRisk {
    const { seen, assumed, areOthers } = this.#traffic;
    const isWanted = ({ header }: WeightedPacket) => isOne(header);
    return new UsersAtRisk({ seen: seen.filter(isWanted), assumed: assumed.filter(isWanted), areOthers });
  }

  /** The share of all of them that have such a length, at most. */
  #within(length: Range): number {
    const { seen, assumed, areOthers } = this.#traffic;
    const hidden = areOthers ? besideRange(seen, length) : betweenSides(seen, length);
    return Math.max(inRange(seen, length), hidden) + inSpan(assumed, length);
  }
}

function isMatchedButForLength(rule: Rule): (header: FlatHeader) => boolean {
  const wide = rule.packetLengths.length === 0 ? rule : { ...rule, packetLengths: [] };
  return (header) => ruleMatches(wide, header);
}

/**
 * The share in a range of lengths. Where none of a sample is in it, there may be some nevertheless: each gap between two of
 * n lengths has a share of 1 / (n + 1) on average (Pyke, "Spacings", 1965), and the range a part of it.
 */
function inRange(packets: readonly WeightedPacket[], { from: min, to: max }: Range): number {
  let [matched, below, above] = [0, 0, Math.max(max, LENGTH_USUAL_MAX) + 1];
  for (const { header, weight } of packets) {
    const { packetBytes } = header;
    if (packetBytes < min) below = Math.max(below, packetBytes);
    else if (packetBytes > max) above = Math.min(above, packetBytes);
    else matched += weight;
  }
  const gap = Math.max(1, above - below - 1);
  const expected = (weightOf(packets) / (packets.length + 1)) * Math.min(1, (max - min + 1) / gap);
  return Math.max(matched, expected);
}

const SURROUNDINGS_MIN = 8;

/** The share in a range of lengths if it is as dense there as around it (a kernel estimate of density, as in Parzen, 1962). */
function besideRange(packets: readonly WeightedPacket[], { from: min, to: max }: Range): number {
  const width = max - min + 1;
  const margin = Math.max(SURROUNDINGS_MIN, Math.ceil(width / 2));
  let around = 0;
  for (const { header, weight } of packets) {
    const { packetBytes } = header;
    if (packetBytes >= min - margin && packetBytes <= max + margin) around += weight;
  }
  return (around * width) / (2 * margin);
}

/**
 * The share in a range of lengths if it is as dense there as on the side where users are sparser: the gaps by which rules
 * are cut are those that chance made wide. A length that many packets have counts once, since it says nothing of others;
 * and that a range begins behind a packet says nothing either.
 */
function betweenSides(packets: readonly WeightedPacket[], { from: min, to: max }: Range): number {
  const width = max - min + 1;
  const margin = Math.max(SURROUNDINGS_MIN, Math.ceil(width / 2));
  const [below, above] = [new Set<number>(), new Set<number>()];
  for (const { header } of packets) {
    const { packetBytes } = header;
    if (packetBytes < min && packetBytes >= min - margin) below.add(packetBytes);
    if (packetBytes > max && packetBytes <= max + margin) above.add(packetBytes);
  }
  const dense = ((Math.min(below.size, above.size) - 1) * width) / margin;
  return (Math.min(dense, MISSED_PACKETS) * weightOf(packets)) / (packets.length || 1);
}

/** Assumed lengths are some of those between them. */
function inSpan(packets: readonly WeightedPacket[], { from: min, to: max }: Range): number {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const { header } of packets) {
    least = Math.min(least, header.packetBytes);
    most = Math.max(most, header.packetBytes);
  }
  const overlap = Math.min(max, most) - Math.max(min, least) + 1;
  return packets.length === 0 || overlap <= 0 ? 0 : (weightOf(packets) * overlap) / (most - least + 1);
}

export function weightMatched(rule: Rule, packets: readonly WeightedPacket[]): number {
  return weightOfThose(packets, (header) => ruleMatches(rule, header));
}

/** The weight of the packets that match a rule already, as far as they match it with this change too. */
export function weightMatchedWith(change: Partial<Rule>, packets: readonly WeightedPacket[]): number {
  return weightOfThose(packets, changeMatcher(change));
}

function weightOfThose(packets: readonly WeightedPacket[], isOne: (header: FlatHeader) => boolean): number {
  let sum = 0;
  for (const { header, weight } of packets) if (isOne(header)) sum += weight;
  return sum;
}

/** By any of the rules. */
export function matchedBy(rules: readonly Rule[], packets: readonly WeightedPacket[]): number {
  let sum = 0;
  for (const { header, weight } of packets) if (rules.some((rule) => ruleMatches(rule, header))) sum += weight;
  return sum;
}
