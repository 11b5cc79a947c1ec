/** Match fields by which a rule can be narrowed: those that attack packets have and users' packets have not. Pure. */
import { exactly, isInRanges, onlyValue, type Range, without } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import { NONE } from "./flat-header.ts";
import { PORT_MAX, RANGES_MAX } from "./match.ts";
import type { Rule } from "./rule.ts";
import {
  COMMON_PACKETS_MIN,
  COMMON_SLACK,
  HEAVY_PACKETS_MIN,
  LEFT_OUT_COST,
  LEFT_OUT_PACKETS_MIN,
  LEFT_OUT_SHARE_MIN,
  LISTED_PORT_SHARE_MIN,
  LONE_PORT_SHARE_MIN,
  MIXED_USERS_WEIGHT,
  RANGE_COST,
  RANGE_SPARED_MIN,
  USERS_WEIGHT,
} from "./rule-bounds.ts";
import { Tally } from "./tally.ts";
import { heaviestOf, talliedBy, type WeightedPacket, weightOf } from "./weighted-packet.ts";

type Fields = Partial<Rule>;
/** Fields in which a rule has the values that the attack's packets had, which others may take the place of. */
export type NarrowField = "destinationPorts" | "sourcePorts" | "packetLengths";

const ENDS = ["destination", "source"] as const;
type End = (typeof ENDS)[number];
const LENGTH_MAX = 0xffff;
const FLAG_BITS = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80];
/** Flags that senders set by themselves: the others are of congestion and urgency. */
const FLAGS_COMMON = 0x1f;
/** This share of an attack's lengths at either end is not its own. */
const OUTERMOST_SHARE = 0.005;
/** All ports but four are five ranges, as many as a rule has. */
const PORTS_LEFT_OUT_MAX = RANGES_MAX - 1;
const CLIENT_PORTS_FROM = 1024;
/** Ports of single clients are left out only where the next packet seldom has another one: the rest may be of the attack. */
const UNSEEN_SHARE_MAX = 0.25;
/** Ports of one service that takes several are this near to each other. */
const NEAR_PORTS = 16;
/** A common range of lengths that is wider is not specific, bytes. */
export const LENGTH_WIDTH_MAX = 100;

/** A change that narrows a rule, and what it costs beside what it misses of the attack. */
export class Narrowing {
  readonly fields: Fields;
  readonly cost: number;
  /** The weight of the attack that matches it, and the share of users; null: not counted yet. */
  kept: number | null;
  users: number | null = null;

  constructor(fields: Fields, cost = 0, kept: number | null = null) {
    this.fields = fields;
    this.cost = cost;
    this.kept = kept;
  }
}

/**
 * None; the one that the attack is in; the one between lengths of users that has most of the attack; or the one that has
 * most of it beyond what it has of users, from whom other fields are to separate it.
 */
export type LengthRanges = "none" | "own" | "between users" | "beside users";

/** The packets by which a rule is narrowed. */
interface NarrowedBy {
  /** Packets that the rule matches. */
  readonly attack: readonly WeightedPacket[];
  readonly users: readonly WeightedPacket[];
  /** Fields that the attack has had other values in: as wide as users leave room for, or not at all. */
  readonly moved: ReadonlySet<NarrowField>;
  readonly ranges: LengthRanges;
}

/** The changes that do not depend on which ranges of lengths are tried. */
export interface SteadyFields {
  /** The length of answers: it depends on the amplifier. */
  readonly answers: readonly Narrowing[];
  readonly ports: readonly Narrowing[];
  readonly flags: readonly Narrowing[];
  readonly exactLength: readonly Narrowing[];
  readonly fragments: readonly Narrowing[];
}

export function steadyFields(rule: Rule, { attack, users, moved }: Omit<NarrowedBy, "ranges">): SteadyFields {
  const hasLength = rule.packetLengths.length > 0 || moved.has("packetLengths");
  const ports: Narrowing[] = [];
  for (const end of ENDS) {
    if (rule[`${end}Ports`].length > 0) continue;
    const listed = moved.has(`${end}Ports`) ? [] : portsOf(end, attack, users);
    if (listed.length > 0) ports.push(new Narrowing({ [`${end}Ports`]: listed }));
    const others = portsExceptOf(end, users);
    if (others !== null) ports.push(new Narrowing({ [`${end}Ports`]: others }, LEFT_OUT_COST));
  }
  const isCommon = isReflected(rule) && !hasLength && attack.length >= COMMON_PACKETS_MIN;
  return {
    answers: isCommon ? [new Narrowing(commonLength(rule, attack, COMMON_SLACK))] : [],
    ports,
    flags: onlyValue(rule.protocols) === IP_PROTOCOL.tcp ? flagFields(rule.tcpFlags, attack) : [],
    exactLength: hasLength ? [] : exactLength(attack),
    fragments: rule.fragment === null ? [true, false].map((fragment) => new Narrowing({ fragment })) : [],
  };
}

/** Changes that narrow the rule, each to be tried; of those that are equally good the first is to be taken. */
export function fieldsFor(rule: Rule, by: NarrowedBy, steady: SteadyFields): readonly Narrowing[] {
  const { attack, users, moved, ranges } = by;
  const hasLength = rule.packetLengths.length > 0;
  const isLengthMoved = moved.has("packetLengths");
  const isAmong = ranges.endsWith("users") || (ranges === "none" && isReflected(rule) && isLengthMoved);
  const weight = ranges === "beside users" ? MIXED_USERS_WEIGHT : USERS_WEIGHT;
  const among = hasLength || !isAmong ? [] : lengthFields(attack, users, { weight, isWidest: isLengthMoved });
  const own = ranges === "own" && !hasLength && !isLengthMoved ? ownRange(attack) : [];
  const sparing = ranges.endsWith("users") ? among.filter((range) => sparedBy(range, users) >= RANGE_SPARED_MIN) : [];
  const asRange = (fields: Fields) => new Narrowing(fields, RANGE_COST);
  return [
    // The attacker chooses the destination port freely; the length depends on the amplifier, so it is tried first.
    ...(isReflected(rule) && isLengthMoved ? among.map((fields) => new Narrowing(fields)) : steady.answers),
    ...steady.ports,
    ...steady.flags,
    ...steady.exactLength,
    ...own.map(asRange),
    ...sparing.map(asRange),
    ...steady.fragments,
  ];
}

function isReflected({ protocols, sourcePorts }: Rule): boolean {
  return sourcePorts.length > 0 && onlyValue(protocols) === IP_PROTOCOL.udp;
}

/** The lengths of the attack, but for the outermost. */
function ownRange(attack: readonly WeightedPacket[]): Fields[] {
  const lengths = attack.map(({ header }) => header.packetBytes).sort((a, b) => a - b);
  const outermost = Math.floor(OUTERMOST_SHARE * lengths.length);
  const [min, max] = [lengths[outermost] ?? 0, lengths[lengths.length - 1 - outermost] ?? 0];
  return min === 0 || lengths.length < COMMON_PACKETS_MIN ? [] : [{ packetLengths: [{ from: min, to: max }] }];
}

/** The length that most packets have. */
function exactLength(packets: readonly WeightedPacket[]): Narrowing[] {
  const heaviest = heaviestOf(talliedBy(packets, "packetBytes", 1));
  if (heaviest === null || heaviest.count < HEAVY_PACKETS_MIN) return [];
  return [new Narrowing({ packetLengths: exactly(heaviest.value) }, 0, heaviest.weight)];
}

/** How many packets of users the range leaves out. */
function sparedBy({ packetLengths = [] }: Fields, users: readonly WeightedPacket[]): number {
  return users.filter(({ header }) => !isInRanges(packetLengths, header.packetBytes)).length;
}

/** Fields in which all packets but a share of `slack` agree, but those of `moved`. None if there are few packets. */
export function inCommon(
  rule: Rule,
  packets: readonly WeightedPacket[],
  slack: number,
  moved: ReadonlySet<NarrowField>,
): Fields {
  if (packets.length < COMMON_PACKETS_MIN) return {};
  const least = (1 - slack) * weightOf(packets);
  let fields: Fields = {};
  for (const end of ENDS) {
    if (rule[`${end}Ports`].length > 0 || moved.has(`${end}Ports`)) continue;
    const listed = portsOf(end, packets, []);
    if (listed.length === 0) continue;
    const matched = weightOf(packets.filter(({ header }) => isInRanges(listed, header[`${end}Port`])));
    if (matched >= least) fields = { ...fields, [`${end}Ports`]: listed };
  }
  if (onlyValue(rule.protocols) === IP_PROTOCOL.tcp && rule.tcpFlags === null)
    fields = { ...fields, ...commonFlags(packets, slack) };
  return moved.has("packetLengths") ? fields : { ...fields, ...commonLength(rule, packets, slack) };
}

/** The ports that attack packets have far more than users. */
function portsOf(end: End, attack: readonly WeightedPacket[], users: readonly WeightedPacket[]): Range[] {
  const total = weightOf(attack);
  const { values, weights, counts } = talliedBy(attack, `${end}Port`);
  const worth: { readonly port: number; readonly worth: number }[] = [];
  for (const [i, port] of values.entries()) {
    const weight = weights[i] as number;
    if ((counts[i] as number) < HEAVY_PACKETS_MIN || weight < LISTED_PORT_SHARE_MIN * total) continue;
    const of = weight / total - USERS_WEIGHT * weightAt(end, port, users);
    if (of > 0 && !isOfOneConversation(end, port, attack, total)) worth.push({ port, worth: of });
  }
  worth.sort((a, b) => b.worth - a.worth);
  const listed = worth.slice(0, RANGES_MAX).map(({ port }) => ({ from: port, to: port }));
  return listed.sort((a, b) => a.from - b.from);
}

/** The weight of those that have the port. */
function weightAt(end: End, port: number, packets: readonly WeightedPacket[]): number {
  let sum = 0;
  for (const { header, weight } of packets) if (header[`${end}Port`] === port) sum += weight;
  return sum;
}

/** A source port that one source alone uses, for a small part, is that of a connection, and says nothing of the others. */
function isOfOneConversation(end: End, port: number, attack: readonly WeightedPacket[], total: number): boolean {
  if (end === "destination") return false;
  const packets = attack.filter(({ header }) => header.sourcePort === port);
  if (weightOf(packets) >= LONE_PORT_SHARE_MIN * total) return false;
  return areOfOneSource(packets);
}

/** A port that a client drew for itself (RFC 6335, 6) says nothing of the next one. */
function isOfOneClient(end: End, port: number, users: readonly WeightedPacket[]): boolean {
  if (end === "destination" || port < CLIENT_PORTS_FROM) return false;
  return areOfOneSource(users.filter(({ header }) => header.sourcePort === port));
}

function areOfOneSource(packets: readonly WeightedPacket[]): boolean {
  return new Set(packets.map(({ header }) => header.source)).size === 1;
}

/** All ports but those that most users have, with what lies between near ones; null: users have no ports in common. */
function portsExceptOf(end: End, users: readonly WeightedPacket[]): readonly Range[] | null {
  const total = weightOf(users);
  const { values, weights, counts } = talliedBy(users, `${end}Port`);
  // The chance that the next packet has a port that was not seen yet (Good, 1953).
  const areOthers = counts.filter((count) => count === 1).length > UNSEEN_SHARE_MAX * users.length;
  const several: { readonly port: number; readonly weight: number }[] = [];
  for (const [i, port] of values.entries()) {
    if ((counts[i] as number) < LEFT_OUT_PACKETS_MIN || (areOthers && isOfOneClient(end, port, users))) continue;
    several.push({ port, weight: weights[i] as number });
  }
  const clusters: { from: number; to: number; weight: number }[] = [];
  for (const { port, weight } of several.sort((a, b) => a.port - b.port)) {
    const last = clusters.at(-1);
    if (last === undefined || port - last.to > NEAR_PORTS) clusters.push({ from: port, to: port, weight });
    else Object.assign(last, { to: port, weight: last.weight + weight });
  }
  const heavy = clusters
    .filter(({ weight }) => weight >= LEFT_OUT_SHARE_MIN * total)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, PORTS_LEFT_OUT_MAX);
  return heavy.length === 0 ? null : without({ from: 0, to: PORT_MAX }, heavy);
}

/** Each flag set, and each unset. @param attack packets with the flags. */
function flagFields(flags: Rule["tcpFlags"], attack: readonly WeightedPacket[]): Narrowing[] {
  const present = flags ?? { set: 0, unset: 0 };
  const open = FLAG_BITS.filter((bit) => ((present.set | present.unset) & bit) === 0);
  const weights = weightsByFlag(attack);
  const single = open.flatMap((bit) => {
    const at = FLAG_BITS.indexOf(bit);
    const having = { set: present.set | bit, unset: present.unset };
    const lacking = { set: present.set, unset: present.unset | bit };
    return [
      new Narrowing({ tcpFlags: having }, 0, weights.set[at]),
      new Narrowing({ tcpFlags: lacking }, 0, weights.unset[at]),
    ];
  });
  const common = commonFlags(attack, COMMON_SLACK, weights);
  return common.tcpFlags ? [...single, new Narrowing(common)] : single;
}

/** By TCP flag, the weight of the packets that have it set, and of those that have it not. */
function weightsByFlag(packets: readonly WeightedPacket[]) {
  const [set, unset] = [FLAG_BITS.map(() => 0), FLAG_BITS.map(() => 0)];
  for (const { header, weight } of packets) {
    if (header.flags === NONE) continue;
    for (let at = 0; at < FLAG_BITS.length; at++) {
      const of = (header.flags & (FLAG_BITS[at] as number)) === 0 ? unset : set;
      of[at] = (of[at] as number) + weight;
    }
  }
  return { set, unset };
}

function commonFlags(packets: readonly WeightedPacket[], slack: number, weights = weightsByFlag(packets)): Fields {
  if (packets.length === 0 || packets.some(({ header }) => header.flags === NONE)) return {};
  const total = weightOf(packets);
  let set = 0;
  let unset = 0;
  for (const [at, flag] of FLAG_BITS.entries()) {
    if ((flag & FLAGS_COMMON) === 0) continue;
    const share = (weights.set[at] as number) / total;
    if (share >= 1 - slack) set |= flag;
    if (share <= slack) unset |= flag;
  }
  return set === 0 && unset === 0 ? {} : { tcpFlags: { set, unset } };
}

/** A range of lengths is wider than the sample by this and a quarter of its width, bytes. */
const LENGTH_MARGIN = 8;

/**
 * The range of lengths that holds the most of the attack and the least of the users, up to halfway to the users.
 * @param weight of one percent of the users, in percent of the attack.
 * @param isWidest as far as that, however far from the attack's lengths.
 */
function lengthFields(
  attack: readonly WeightedPacket[],
  users: readonly WeightedPacket[],
  { weight: usersWeight, isWidest }: { readonly weight: number; readonly isWidest: boolean },
): Fields[] {
  const total = weightOf(attack) || 1;
  const worths = new Tally();
  const add = (packets: readonly WeightedPacket[], factor: number) => {
    for (const { header, weight } of packets)
      if (header.packetBytes > 0) worths.add(header.packetBytes, factor * weight);
  };
  add(attack, 1 / total);
  add(users, -usersWeight);
  const lengths = worths.values.map((length, i) => ({ length, worth: worths.weights[i] as number }));
  lengths.sort((a, b) => a.length - b.length);
  const best = bestRun(lengths.map(({ worth }) => worth));
  if (best === null) return [];
  const [from, to] = [lengths[best.from]?.length ?? 0, lengths[best.to]?.length ?? 0];
  const below = lengths[best.from - 1]?.length;
  const above = lengths[best.to + 1]?.length;
  // A sample does not show the ends of a range; lengths further off may be of users who are not in the sample.
  const margin = isWidest ? LENGTH_MAX : LENGTH_MARGIN + Math.ceil((to - from) / 4);
  const min = below === undefined ? 1 : Math.max(from - margin, Math.ceil((from + below + 1) / 2));
  const max = above === undefined ? LENGTH_MAX : Math.min(to + margin, Math.floor((to + above - 1) / 2));
  return [{ packetLengths: [{ from: min, to: max }] }];
}

/** The run of values with the largest sum (Kadane); null: no sum is above zero. */
function bestRun(values: readonly number[]): { readonly from: number; readonly to: number } | null {
  let best: { from: number; to: number; sum: number } | null = null;
  let from = 0;
  let sum = 0;
  values.forEach((value, to) => {
    if (sum <= 0) {
      from = to;
      sum = 0;
    }
    sum += value;
    if (sum > (best?.sum ?? 0)) best = { from, to, sum };
  });
  return best;
}

/** One length, or a narrow range of them that the rule has no range for yet. */
function commonLength({ packetLengths }: Rule, packets: readonly WeightedPacket[], slack: number): Fields {
  const heaviest = heaviestOf(talliedBy(packets, "packetBytes", 1));
  if (heaviest === null) return {};
  if (heaviest.weight >= (1 - slack) * weightOf(packets)) return { packetLengths: exactly(heaviest.value) };
  if (packetLengths.length > 0) return {};
  const all = packets.map(({ header }) => header.packetBytes).filter((bytes) => bytes > 0);
  const [min, max] = [Math.min(...all), Math.max(...all)];
  if (all.length < packets.length || max - min > LENGTH_WIDTH_MAX) return {};
  const margin = Math.ceil((max - min) / 4);
  return { packetLengths: [{ from: Math.max(1, min - margin), to: Math.min(LENGTH_MAX, max + margin) }] };
}
