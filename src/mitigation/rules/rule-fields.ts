/** Match fields by which a rule can be narrowed: those that attack packets have and users' packets have not. Pure. */
import { exactly, isInRanges, onlyValue, type Range, without } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
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
  RANGE_COST,
  RANGE_SPARED_MIN,
  USERS_WEIGHT,
} from "./rule-bounds.ts";
import { countsBy, heaviestOf, type WeightedPacket, weightOf, weightsBy } from "./weighted-packet.ts";

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
/** Ports of one service that takes several are this near to each other. */
const NEAR_PORTS = 16;
/** A common range of lengths that is wider is not specific, bytes. */
const LENGTH_WIDTH_MAX = 100;

/** A change that narrows a rule, and what it costs beside what it misses of the attack. */
export interface Narrowing {
  readonly fields: Fields;
  readonly cost: number;
}

/** None; the one that the attack is in; or the one between lengths of users that has most of the attack. */
export type LengthRanges = "none" | "own" | "between users";

/** The packets by which a rule is narrowed. */
export interface NarrowedBy {
  /** Packets that the rule matches. */
  readonly attack: readonly WeightedPacket[];
  readonly users: readonly WeightedPacket[];
  /** Fields that the attack has had other values in: as wide as users leave room for, or not at all. */
  readonly moved: ReadonlySet<NarrowField>;
  readonly ranges: LengthRanges;
}

/** Changes that narrow the rule, each to be tried; of those that are equally good the first is to be taken. */
export function fieldsFor(rule: Rule, { attack, users, moved, ranges }: NarrowedBy): Narrowing[] {
  const narrowings: Narrowing[] = [];
  const add = (fields: Fields, cost = 0) => narrowings.push({ fields, cost });
  // The attacker chooses the destination port freely; the length depends on the amplifier, so it is tried first.
  const isReflected = onlyValue(rule.protocols) === IP_PROTOCOL.udp && rule.sourcePorts.length > 0;
  const hasLength = rule.packetLengths.length > 0;
  const isLengthMoved = moved.has("packetLengths");
  const isBetween = ranges === "between users" || (ranges === "none" && isReflected && isLengthMoved);
  const between = hasLength || !isBetween ? [] : lengthFields(attack, users, isLengthMoved);
  if (isReflected && !hasLength) {
    if (isLengthMoved) for (const range of between) add(range);
    else if (attack.length >= COMMON_PACKETS_MIN) add(commonLength(rule, attack, COMMON_SLACK));
  }
  for (const end of ENDS) {
    if (rule[`${end}Ports`].length > 0) continue;
    const listed = moved.has(`${end}Ports`) ? [] : portsOf(end, attack, users);
    if (listed.length > 0) add({ [`${end}Ports`]: listed });
    const others = portsExceptOf(end, users);
    if (others !== null) add({ [`${end}Ports`]: others }, LEFT_OUT_COST);
  }
  if (onlyValue(rule.protocols) === IP_PROTOCOL.tcp)
    for (const fields of flagFields(rule.tcpFlags, attack)) add(fields);
  if (!hasLength && !isLengthMoved) {
    for (const fields of exactLength(attack)) add(fields);
    if (ranges === "own") for (const range of ownRange(attack)) add(range, RANGE_COST);
  }
  if (ranges === "between users")
    for (const range of between) if (sparedBy(range, users) >= RANGE_SPARED_MIN) add(range, RANGE_COST);
  if (rule.fragment === null) for (const fragment of [true, false]) add({ fragment });
  return narrowings;
}

/** The lengths of the attack, but for the outermost. */
function ownRange(attack: readonly WeightedPacket[]): Fields[] {
  const lengths = attack.map(({ header }) => header.packetBytes).sort((a, b) => a - b);
  const outermost = Math.floor(OUTERMOST_SHARE * lengths.length);
  const [min, max] = [lengths[outermost] ?? 0, lengths[lengths.length - 1 - outermost] ?? 0];
  return min === 0 || lengths.length < COMMON_PACKETS_MIN ? [] : [{ packetLengths: [{ from: min, to: max }] }];
}

/** The length that most packets have. */
function exactLength(packets: readonly WeightedPacket[]): Fields[] {
  const heaviest = heaviestOf(packets, ({ packetBytes }) => packetBytes || null);
  if (heaviest === null) return [];
  const { value } = heaviest;
  const count = packets.filter(({ header }) => header.packetBytes === value).length;
  return count < HEAVY_PACKETS_MIN ? [] : [{ packetLengths: exactly(value) }];
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
    const matched = weightOf(
      packets.filter(({ header: { ports } }) => ports !== null && isInRanges(listed, ports[end])),
    );
    if (listed.length > 0 && matched >= least) fields = { ...fields, [`${end}Ports`]: listed };
  }
  if (onlyValue(rule.protocols) === IP_PROTOCOL.tcp && rule.tcpFlags === null)
    fields = { ...fields, ...commonFlags(packets, slack) };
  return moved.has("packetLengths") ? fields : { ...fields, ...commonLength(rule, packets, slack) };
}

function keyOf(end: End): (header: PacketHeader) => number | null {
  return ({ ports }) => ports?.[end] ?? null;
}

/** The ports that attack packets have far more than users. */
function portsOf(end: End, attack: readonly WeightedPacket[], users: readonly WeightedPacket[]): Range[] {
  const total = weightOf(attack);
  const usersBy = weightsBy(users, keyOf(end));
  const counts = countsBy(attack, keyOf(end));
  const worth = [...weightsBy(attack, keyOf(end))]
    .filter(([port, weight]) => weight >= LISTED_PORT_SHARE_MIN * total && (counts.get(port) ?? 0) >= HEAVY_PACKETS_MIN)
    .map(([port, weight]) => ({ port, worth: weight / total - USERS_WEIGHT * (usersBy.get(port) ?? 0) }))
    .filter((each) => each.worth > 0 && !isOfOneConversation(end, each.port, attack, total))
    .sort((a, b) => b.worth - a.worth)
    .slice(0, RANGES_MAX);
  return worth.flatMap(({ port }) => exactly(port)).sort((a, b) => a.from - b.from);
}

/** A source port that one source alone uses, for a small part, is that of a connection, and says nothing of the others. */
function isOfOneConversation(end: End, port: number, attack: readonly WeightedPacket[], total: number): boolean {
  if (end === "destination") return false;
  const packets = attack.filter(({ header }) => header.ports?.source === port);
  if (weightOf(packets) >= LONE_PORT_SHARE_MIN * total) return false;
  return new Set(packets.map(({ header }) => header.source)).size === 1;
}

/** All ports but those that most users have, with what lies between near ones; null: users have no ports in common. */
function portsExceptOf(end: End, users: readonly WeightedPacket[]): readonly Range[] | null {
  const total = weightOf(users);
  const counts = countsBy(users, keyOf(end));
  const clusters: { from: number; to: number; weight: number }[] = [];
  const several = [...weightsBy(users, keyOf(end))].filter(([port]) => (counts.get(port) ?? 0) >= LEFT_OUT_PACKETS_MIN);
  for (const [port, weight] of several.sort(([a], [b]) => a - b)) {
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

/** Each flag set, and each unset. */
function flagFields(flags: Rule["tcpFlags"], attack: readonly WeightedPacket[]): Fields[] {
  const present = flags ?? { set: 0, unset: 0 };
  const open = FLAG_BITS.filter((bit) => ((present.set | present.unset) & bit) === 0);
  const single = open.flatMap((bit) => [
    { set: present.set | bit, unset: present.unset },
    { set: present.set, unset: present.unset | bit },
  ]);
  const { tcpFlags: common } = commonFlags(attack, COMMON_SLACK);
  return [...single, ...(common ? [common] : [])].map((tcpFlags) => ({ tcpFlags }));
}

function commonFlags(packets: readonly WeightedPacket[], slack: number): Fields {
  const shown = packets.filter(({ header }) => header.tcpFlags !== null);
  if (shown.length === 0 || shown.length < packets.length) return {};
  const total = weightOf(shown);
  let set = 0;
  let unset = 0;
  for (const flag of FLAG_BITS.filter((bit) => (bit & FLAGS_COMMON) !== 0)) {
    const share = weightOf(shown.filter(({ header }) => ((header.tcpFlags ?? 0) & flag) !== 0)) / total;
    if (share >= 1 - slack) set |= flag;
    if (share <= slack) unset |= flag;
  }
  return set === 0 && unset === 0 ? {} : { tcpFlags: { set, unset } };
}

/** A range of lengths is wider than the sample by this and a quarter of its width, bytes. */
const LENGTH_MARGIN = 8;

/**
 * The range of lengths that holds the most of the attack and the least of the users, up to halfway to the users.
 * @param isWidest as far as that, however far from the attack's lengths.
 */
function lengthFields(
  attack: readonly WeightedPacket[],
  users: readonly WeightedPacket[],
  isWidest: boolean,
): Fields[] {
  const total = weightOf(attack) || 1;
  const worths = new Map<number, { worth: number; isUsers: boolean }>();
  const add = (packets: readonly WeightedPacket[], factor: number, isUsers: boolean) => {
    for (const { header, weight } of packets) {
      const { packetBytes } = header;
      if (packetBytes === 0) continue;
      const known = worths.get(packetBytes) ?? { worth: 0, isUsers: false };
      worths.set(packetBytes, { worth: known.worth + factor * weight, isUsers: known.isUsers || isUsers });
    }
  };
  add(attack, 1 / total, false);
  add(users, -USERS_WEIGHT, true);
  const lengths = [...worths].map(([length, of]) => ({ length, ...of })).sort((a, b) => a.length - b.length);
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
  const heaviest = heaviestOf(packets, ({ packetBytes }) => packetBytes || null);
  if (heaviest === null) return {};
  if (heaviest.weight >= (1 - slack) * weightOf(packets)) return { packetLengths: exactly(heaviest.value) };
  if (packetLengths.length > 0) return {};
  const all = packets.map(({ header }) => header.packetBytes).filter((bytes) => bytes > 0);
  const [min, max] = [Math.min(...all), Math.max(...all)];
  if (all.length < packets.length || max - min > LENGTH_WIDTH_MAX) return {};
  const margin = Math.ceil((max - min) / 4);
  return { packetLengths: [{ from: Math.max(1, min - margin), to: Math.min(LENGTH_MAX, max + margin) }] };
}
