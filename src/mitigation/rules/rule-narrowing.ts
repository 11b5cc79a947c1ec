/** Narrows a rule by what nearly all of an attack's packets have in common: ports, flags, lengths, sources. Pure. */
import { addressFamily, type IpAddress } from "../../net/address.ts";
import { enclosingPrefix, type Prefix } from "../../net/prefix.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { PORT_RANGES_MAX, type PortRange, type Rule, ruleMatches } from "./rule.ts";

/** With fewer packets what they have in common may be chance. */
const PACKETS_LEAST = 32;
/** Share of the packets that each port of a list must have, and each range of lengths. */
const PORT_SHARE_LEAST = 0.05;
const LENGTH_SHARE_LEAST = 0.1;
/** Lengths so near to each other are one range, bytes; a range that is wider tells nothing. */
const LENGTH_GAP = 16;
const LENGTH_WIDTH_MAX = 100;
const LENGTH_RANGES_MAX = 3;
const LONG_LEAST = 400;
/** Of the heaviest value's weight: what has less may be others'. */
export const FAR_BELOW = 0.25;
/** Share of the packets that a flag may be on or missing in and still be called a rule. */
const FLAG_SLACK = 0.005;
const FLAGS_JUDGED = [0x01, 0x02, 0x04, 0x08, 0x10];
/** So many take one component's five values. */
const PORTS_LEFT_OUT_MAX = 2;
/** Share of the packets that may be lost by it. */
const APART_LOSS_MAX = 0.01;
const PORT_MAX = 0xffff;
const ENDS = ["destination", "source"] as const;
const SOURCES_MAX = 4;
/** What is told as one source, from the narrowest on. */
const SOURCE_LENGTHS = { 4: [32, 24], 6: [128, 64, 48] } as const;

export interface WeighedPacket {
  readonly header: PacketHeader;
  /** What it stands for, in the unit that the attack has too many of. */
  readonly weight: number;
}

export function weightOf(packets: readonly WeighedPacket[]): number {
  return packets.reduce((sum, { weight }) => sum + weight, 0);
}

type Spared = Pick<Narrowing, "packets" | "spare">;

export interface Narrowing {
  /** Packets that the rule is for; some of them may be others' that look alike. */
  readonly packets: readonly WeighedPacket[];
  /** Weight of them that may be left out. */
  readonly spare: number;
  /** Packets that the rule matches and is not for. */
  readonly others: readonly WeighedPacket[];
}

/** The rules that together take the place of this one; itself where nothing is in common. */
export function narrowed(rule: Rule, { packets, spare, others }: Narrowing): readonly Rule[] {
  if (packets.length < PACKETS_LEAST) return [rule];
  let result = rule;
  let left = { packets, spare };
  const narrow = (changes: Partial<Rule>) => {
    result = { ...result, ...changes };
    const kept = left.packets.filter(({ header }) => ruleMatches(result, header));
    left = { packets: kept, spare: left.spare - (weightOf(left.packets) - weightOf(kept)) };
  };
  for (const end of ENDS) {
    const ports = result[`${end}Ports`].length > 0 ? null : portsInCommon(left, end);
    if (ports !== null) narrow({ [`${end}Ports`]: ports.map(({ from, to }) => ({ from, to })) });
  }
  if (result.protocol === IP_PROTOCOL.tcp && result.tcpFlags === null) {
    narrow({ tcpFlags: flagsInCommon(left.packets) });
  }
  const lengths = lengthsInCommon(left)?.map(({ from, to }) => ({ packetLength: { min: from, max: to } })) ?? [{}];
  const rules = lengths.map((length) => ({ ...result, ...length }));
  return apartFrom(others, rules, left.packets);
}

/** Leaves out the ports that the others have most of, where hardly any of the packets have them. */
function apartFrom(others: readonly WeighedPacket[], rules: readonly Rule[], packets: readonly WeighedPacket[]) {
  let result = rules;
  for (const end of ENDS) {
    const left = others.filter(({ header }) => result.some((rule) => ruleMatches(rule, header)));
    if (weightOf(left) === 0) break;
    const taken = weightsOf(left, ({ header }) => header.ports?.[end] ?? null);
    const heaviest = [...taken].sort(([, a], [, b]) => b - a).slice(0, PORTS_LEFT_OUT_MAX);
    const ports = portsBut(heaviest.map(([port]) => port));
    const lost = packets.filter(({ header }) => !isIn(ports, header.ports?.[end]));
    const gained = heaviest.reduce((sum, [, weight]) => sum + weight, 0);
    const isWorthIt = gained >= weightOf(left) / 2 && weightOf(lost) <= weightOf(packets) * APART_LOSS_MAX;
    if (isWorthIt)
      result = result.map((rule) => (rule[`${end}Ports`].length > 0 ? rule : { ...rule, [`${end}Ports`]: ports }));
  }
  return result;
}

/** All ports without these. */
function portsBut(ports: readonly number[]): readonly PortRange[] {
  const ranges: PortRange[] = [];
  let from = 0;
  for (const port of [...ports].sort((a, b) => a - b)) {
    if (port > from) ranges.push({ from, to: port - 1 });
    from = port + 1;
  }
  if (from <= PORT_MAX) ranges.push({ from, to: PORT_MAX });
  return ranges;
}

function isIn(ranges: readonly PortRange[], value: number | undefined): boolean {
  return value !== undefined && ranges.some(({ from, to }) => from <= value && value <= to);
}

/** null: they go all over. */
function portsInCommon({ packets, spare }: Spared, end: "source" | "destination"): PortRange[] | null {
  const weights = weightsOf(packets, ({ header }) => header.ports?.[end] ?? null);
  const ports = [...weights].map(([port, weight]) => ({ from: port, to: port, weight }));
  return outstanding(ports, {
    total: weightOf(packets),
    spare,
    shareLeast: PORT_SHARE_LEAST,
    countMax: PORT_RANGES_MAX,
  });
}

/** null: they have all lengths, or lengths that are left open. */
function lengthsInCommon({ packets, spare }: Spared): PortRange[] | null {
  const weights = weightsOf(packets, ({ header }) => (header.packetBytes > 0 ? header.packetBytes : null));
  const exact = [...weights].map(([length, weight]) => ({ from: length, to: length, weight }));
  const bounds = { total: weightOf(packets), spare, shareLeast: LENGTH_SHARE_LEAST, countMax: LENGTH_RANGES_MAX };
  const lengths = outstanding(exact, bounds);
  if (lengths !== null) return lengths;
  const ranges = outstanding(inClusters(exact), bounds);
  if (ranges?.every(({ from, to }) => to - from <= LENGTH_WIDTH_MAX)) return ranges.map(padded);
  return longOnly(exact, spare);
}

interface Weighted extends PortRange {
  readonly weight: number;
}

/** Those that have nearly all of the weight, in order: preferably without ones that are far below the heaviest. */
function outstanding(
  values: readonly Weighted[],
  { total, spare, shareLeast, countMax }: { total: number; spare: number; shareLeast: number; countMax: number },
): Weighted[] | null {
  const heaviest = values.reduce((max, { weight }) => Math.max(max, weight), 0);
  for (const least of [heaviest * FAR_BELOW, total * shareLeast]) {
    const kept = values.filter(({ weight }) => weight >= Math.max(least, total * shareLeast));
    const weight = kept.reduce((sum, value) => sum + value.weight, 0);
    const isAll = kept.length > 0 && kept.length <= countMax && total - weight <= spare;
    if (isAll) return kept.sort((a, b) => a.from - b.from);
  }
  return null;
}

/** Values with no gap between them. */
function inClusters(values: readonly Weighted[]): Weighted[] {
  const clusters: Weighted[] = [];
  for (const value of values.toSorted((a, b) => a.from - b.from)) {
    const last = clusters.at(-1);
    if (last === undefined || value.from - last.to > LENGTH_GAP) clusters.push(value);
    else clusters[clusters.length - 1] = { from: last.from, to: value.to, weight: last.weight + value.weight };
  }
  return clusters;
}

/** All but short packets: answers that are worth asking for in an attack are long, those to people mostly are not. */
function longOnly(lengths: readonly Weighted[], spare: number): PortRange[] | null {
  let passed = 0;
  for (const { from, weight } of lengths.toSorted((a, b) => a.from - b.from)) {
    passed += weight;
    if (passed <= spare) continue;
    return from < LONG_LEAST ? null : [{ from: from - Math.ceil(from / 4), to: 0xffff }];
  }
  return null;
}

/** The sample has not seen the ends of a range. */
function padded({ from, to }: PortRange): PortRange {
  const margin = Math.ceil((to - from) / 4);
  return { from: Math.max(1, from - margin), to: Math.min(0xffff, to + margin) };
}

/** Of packets that show any. */
function flagsInCommon(packets: readonly WeighedPacket[]): Rule["tcpFlags"] {
  const shown = packets.filter(({ header }) => header.tcpFlags !== null);
  const total = weightOf(shown);
  let set = 0;
  let unset = 0;
  for (const flag of FLAGS_JUDGED) {
    const share = weightOf(shown.filter(({ header }) => ((header.tcpFlags ?? 0) & flag) !== 0)) / total;
    if (share >= 1 - FLAG_SLACK) set |= flag;
    if (share <= FLAG_SLACK) unset |= flag;
  }
  return (set === 0 && unset === 0) || shown.length < packets.length ? null : { set, unset };
}

/**
 * The few prefixes that at least such a share comes from, hosts before networks; null: it comes from everywhere.
 */
export function sourcesInCommon(packets: readonly WeighedPacket[], shareLeast: number): readonly Prefix[] | null {
  const [first] = packets;
  if (first === undefined || packets.length < PACKETS_LEAST) return null;
  const family = addressFamily(first.header.destination);
  const total = weightOf(packets);
  for (const length of SOURCE_LENGTHS[family]) {
    const weights = weightsOf(packets, ({ header }) => sourceText(header.source, family, length));
    const heaviest = [...weights].sort(([, a], [, b]) => b - a).slice(0, SOURCES_MAX);
    const chosen = heaviest.filter(([, weight]) => weight >= total * PORT_SHARE_LEAST);
    const share = chosen.reduce((sum, [, weight]) => sum + weight, 0) / total;
    if (share >= shareLeast) return chosen.map(([address]) => enclosingPrefix(address, length));
  }
  return null;
}

function sourceText(source: IpAddress, family: 4 | 6, length: number): IpAddress | null {
  return addressFamily(source) === family ? enclosingPrefix(source, length).address : null;
}

function weightsOf<K>(packets: readonly WeighedPacket[], keyOf: (packet: WeighedPacket) => K | null): Map<K, number> {
  const weights = new Map<K, number>();
  for (const packet of packets) {
    const key = keyOf(packet);
    if (key !== null) weights.set(key, (weights.get(key) ?? 0) + packet.weight);
  }
  return weights;
}
