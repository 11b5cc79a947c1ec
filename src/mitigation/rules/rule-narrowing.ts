/** Narrows a rule by what nearly all of an attack's packets have in common: ports, flags, lengths, sources. Pure. */
import { addressFamily, type IpAddress } from "../../net/address.ts";
import { enclosingPrefix, type Prefix } from "../../net/prefix.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { PORT_RANGES_MAX, type PortRange, type Rule, ruleMatches } from "./rule.ts";

/** With fewer packets, common values may be chance. */
const PACKETS_MIN = 32;
/** The least share of packets for each port of a list, and for each range of lengths. */
const PORT_SHARE_MIN = 0.05;
const LENGTH_SHARE_MIN = 0.1;
/** Lengths at most this many bytes apart form one range; a range wider than LENGTH_WIDTH_MAX is not specific. */
const LENGTH_GAP = 16;
const LENGTH_WIDTH_MAX = 100;
const LENGTH_RANGES_MAX = 3;
const LONG_LEAST = 400;
/** Values below this part of the heaviest value's weight may be legitimate traffic. */
export const FAR_BELOW = 0.25;
/** A flag counts as always set or always unset if at most this share of packets differs. */
const FLAG_SLACK = 0.005;
const FLAGS_JUDGED = [0x01, 0x02, 0x04, 0x08, 0x10];
/** The largest number of excluded ports: one FlowSpec component holds five values. */
const PORTS_LEFT_OUT_MAX = 2;
/** The share of packets that may be left unmatched by it. */
const APART_LOSS_MAX = 0.01;
const PORT_MAX = 0xffff;
const ENDS = ["destination", "source"] as const;
const SOURCES_MAX = 4;
/** Prefix lengths that count as one source, narrowest first. */
const SOURCE_LENGTHS = { 4: [32, 24], 6: [128, 64, 48] } as const;

export interface WeightedPacket {
  readonly header: PacketHeader;
  /** The number of packets or bytes that it represents. */
  readonly weight: number;
}

export function weightOf(packets: readonly WeightedPacket[]): number {
  return packets.reduce((sum, { weight }) => sum + weight, 0);
}

type Spared = Pick<Narrowing, "packets" | "spare">;

export interface Narrowing {
  /** Packets that the rule must match; some may be legitimate packets that look alike. */
  readonly packets: readonly WeightedPacket[];
  /** The weight of `packets` that may be left unmatched. */
  readonly spare: number;
  /** Packets that the rule matches and should not match. */
  readonly others: readonly WeightedPacket[];
}

/** Narrower rules that together replace this one; the rule itself if nothing is in common. */
export function narrowed(rule: Rule, { packets, spare, others }: Narrowing): readonly Rule[] {
  if (packets.length < PACKETS_MIN) return [rule];
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
  return excludingPortsOf(others, rules, left.packets);
}

/** Leaves out the ports that most of the others use, if hardly any of the packets use them. */
function excludingPortsOf(
  others: readonly WeightedPacket[],
  rules: readonly Rule[],
  packets: readonly WeightedPacket[],
) {
  let result = rules;
  for (const end of ENDS) {
    const left = others.filter(({ header }) => result.some((rule) => ruleMatches(rule, header)));
    if (weightOf(left) === 0) break;
    const taken = weightsOf(left, ({ header }) => header.ports?.[end] ?? null);
    const heaviest = [...taken].sort(([, a], [, b]) => b - a).slice(0, PORTS_LEFT_OUT_MAX);
    const ports = portsExcept(heaviest.map(([port]) => port));
    const lost = packets.filter(({ header }) => !isIn(ports, header.ports?.[end]));
    const gained = heaviest.reduce((sum, [, weight]) => sum + weight, 0);
    const isWorthIt = gained >= weightOf(left) / 2 && weightOf(lost) <= weightOf(packets) * APART_LOSS_MAX;
    if (isWorthIt)
      result = result.map((rule) => (rule[`${end}Ports`].length > 0 ? rule : { ...rule, [`${end}Ports`]: ports }));
  }
  return result;
}

/** All ports except these. */
function portsExcept(ports: readonly number[]): readonly PortRange[] {
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

/** null: the ports vary too much. */
function portsInCommon({ packets, spare }: Spared, end: "source" | "destination"): PortRange[] | null {
  const weights = weightsOf(packets, ({ header }) => header.ports?.[end] ?? null);
  const ports = [...weights].map(([port, weight]) => ({ from: port, to: port, weight }));
  return dominantValues(ports, {
    total: weightOf(packets),
    spare,
    shareLeast: PORT_SHARE_MIN,
    countMax: PORT_RANGES_MAX,
  });
}

/** null: the lengths vary too much. */
function lengthsInCommon({ packets, spare }: Spared): PortRange[] | null {
  const weights = weightsOf(packets, ({ header }) => (header.packetBytes > 0 ? header.packetBytes : null));
  const exact = [...weights].map(([length, weight]) => ({ from: length, to: length, weight }));
  const bounds = { total: weightOf(packets), spare, shareLeast: LENGTH_SHARE_MIN, countMax: LENGTH_RANGES_MAX };
  const lengths = dominantValues(exact, bounds);
  if (lengths !== null) return lengths;
  const ranges = dominantValues(mergedRanges(exact), bounds);
  if (ranges?.every(({ from, to }) => to - from <= LENGTH_WIDTH_MAX)) return ranges.map(padded);
  return withoutShort(exact, spare);
}

interface Weighted extends PortRange {
  readonly weight: number;
}

/** The values with nearly all of the weight, in order, preferably without those far below the heaviest. */
function dominantValues(
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

/** Merges values that are close to each other into ranges. */
function mergedRanges(values: readonly Weighted[]): Weighted[] {
  const clusters: Weighted[] = [];
  for (const value of values.toSorted((a, b) => a.from - b.from)) {
    const last = clusters.at(-1);
    if (last === undefined || value.from - last.to > LENGTH_GAP) clusters.push(value);
    else clusters[clusters.length - 1] = { from: last.from, to: value.to, weight: last.weight + value.weight };
  }
  return clusters;
}

/** All lengths except short ones: amplified answers are long, legitimate answers mostly are not. */
function withoutShort(lengths: readonly Weighted[], spare: number): PortRange[] | null {
  let passed = 0;
  for (const { from, weight } of lengths.toSorted((a, b) => a.from - b.from)) {
    passed += weight;
    if (passed <= spare) continue;
    return from < LONG_LEAST ? null : [{ from: from - Math.ceil(from / 4), to: 0xffff }];
  }
  return null;
}

/** Widens the range: the sample may not contain its ends. */
function padded({ from, to }: PortRange): PortRange {
  const margin = Math.ceil((to - from) / 4);
  return { from: Math.max(1, from - margin), to: Math.min(0xffff, to + margin) };
}

/** From the packets that show flags. */
function flagsInCommon(packets: readonly WeightedPacket[]): Rule["tcpFlags"] {
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

/** The few prefixes that send at least `shareLeast` of the weight, hosts before networks; null: there are none. */
export function sourcesInCommon(packets: readonly WeightedPacket[], shareLeast: number): readonly Prefix[] | null {
  const [first] = packets;
  if (first === undefined || packets.length < PACKETS_MIN) return null;
  const family = addressFamily(first.header.destination);
  const total = weightOf(packets);
  for (const length of SOURCE_LENGTHS[family]) {
    const weights = weightsOf(packets, ({ header }) => sourceText(header.source, family, length));
    const heaviest = [...weights].sort(([, a], [, b]) => b - a).slice(0, SOURCES_MAX);
    const chosen = heaviest.filter(([, weight]) => weight >= total * PORT_SHARE_MIN);
    const share = chosen.reduce((sum, [, weight]) => sum + weight, 0) / total;
    if (share >= shareLeast) return chosen.map(([address]) => enclosingPrefix(address, length));
  }
  return null;
}

function sourceText(source: IpAddress, family: 4 | 6, length: number): IpAddress | null {
  return addressFamily(source) === family ? enclosingPrefix(source, length).address : null;
}

function weightsOf<K>(packets: readonly WeightedPacket[], keyOf: (packet: WeightedPacket) => K | null): Map<K, number> {
  const weights = new Map<K, number>();
  for (const packet of packets) {
    const key = keyOf(packet);
    if (key !== null) weights.set(key, (weights.get(key) ?? 0) + packet.weight);
  }
  return weights;
}
