/**
 * Generates the narrowest rules that match an attack, from its classification and packets. Pure. The traffic that the
 * rules leave must be below the threshold; until it is, wider rules replace them.
 */
import { type Classification, type TrafficUnit, vectorOf } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import type { Vector } from "../../detection/attack/vector.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { Direction } from "../../traffic/rates.ts";
import {
  matchesOnlyDestination,
  matchText,
  RULES_MAX,
  type Rule,
  type RuleAction,
  ruleMatches,
  wideRule,
} from "./rule.ts";
import { FAR_BELOW, narrowed, sourcesInCommon, type WeightedPacket, weightOf } from "./rule-narrowing.ts";
import { vectorRules } from "./vector-rules.ts";

export interface Evidence {
  /** The attacked host, or the prefix of a carpet attack; in an outgoing attack, the sending host. */
  readonly prefix: Prefix;
  readonly direction: Direction;
  readonly classification: Classification | null;
  /** Packets that are probably part of the attack. */
  readonly packets: readonly SampledPacket[];
  /** The attack's rate divided by its threshold; at least 1. */
  readonly timesThreshold: number;
  /** The unit of the threshold that the attack exceeds. */
  readonly unit: TrafficUnit;
}

export interface FlowspecPolicy {
  readonly action: RuleAction;
  /** Whether rules name sources when a few of them send most packets. */
  readonly sourceAnchored: boolean;
  readonly minSourceConcentration: number;
}

export interface GeneratedRules {
  /** At most RULES_MAX, each for the evidence's prefix. */
  readonly rules: readonly Rule[];
  /** No rule narrower than all traffic of the prefix matches the attack. */
  readonly matchesAll: boolean;
}

/** The share of packets that rules may leave unmatched as noise. */
const NOISE = 0.015;
const STRAYS = 2;
/** The largest share of sampled packets that is regarded as legitimate traffic. */
const OTHERS_MAX = 0.4;

/** A rule to be narrowed. */
interface Draft {
  readonly rule: Rule;
  /** Packets that the rule must match. */
  readonly packets: readonly WeightedPacket[];
  /** Other packets that it matches. */
  readonly others: readonly WeightedPacket[];
  readonly isWide: boolean;
}

interface Case {
  readonly evidence: Evidence;
  readonly action: RuleAction;
  readonly packets: readonly WeightedPacket[];
}

export function rulesFor(evidence: Evidence, policy: FlowspecPolicy): GeneratedRules {
  const isOutgoing = evidence.direction === "outgoing";
  const packets = evidence.packets.map((packet) => weighted(packet, evidence.unit));
  // An outgoing attack is processed with source and destination swapped.
  const seen = isOutgoing ? packets.map(mirroredPacket) : packets;
  const generated = generate({ evidence, action: policy.action, packets: seen }, policy);
  return isOutgoing ? { ...generated, rules: generated.rules.map(mirroredRule) } : generated;
}

function weighted({ header, standsFor, wireBytes }: SampledPacket, unit: TrafficUnit): WeightedPacket {
  return { header, weight: unit === "bytes" ? standsFor * wireBytes : standsFor };
}

function generate(attack: Case, policy: FlowspecPolicy): GeneratedRules {
  const { evidence, action } = attack;
  const drafts = draftsOf(attack);
  const spare = spareShare(evidence.timesThreshold);
  const wanted = packetsToCatch(drafts, attack);
  const isEnough = (rules: readonly Rule[]) =>
    rules.length > 0 && rules.length <= RULES_MAX && missedShare(rules, wanted) <= spare;
  const candidates = [
    policy.sourceAnchored ? anchoredToSources(drafts, spare, policy) : [],
    distinct(drafts.flatMap((draft) => narrowest(draft, spare))),
    distinct(drafts.map(({ rule }) => rule)),
    protocolRules(attack),
  ];
  const rules = candidates.find(isEnough) ?? [wideRule(evidence.prefix, action)];
  return { rules, matchesAll: rules.some(matchesOnlyDestination) };
}

/** The packets of the drafts, if they are the greater part: then the rest is regarded as legitimate traffic. */
function packetsToCatch(drafts: readonly Draft[], { packets }: Case): readonly WeightedPacket[] {
  const drafted = drafts.flatMap((draft) => draft.packets);
  return weightOf(drafted) >= weightOf(packets) / 2 ? drafted : packets;
}

function missedShare(rules: readonly Rule[], packets: readonly WeightedPacket[]): number {
  const missed = packets.filter(({ header }) => !rules.some((rule) => ruleMatches(rule, header)));
  return weightOf(missed) / weightOf(packets);
}

/**
 * Before the attack the host was below its threshold: so legitimate traffic is at most that, and if no more is left,
 * the attack is stopped.
 */
function spareShare(timesThreshold: number): number {
  return Math.max(NOISE, Math.min(OTHERS_MAX, 0.8 / timesThreshold));
}

/** One draft for each part of the attack, largest first. A packet belongs to the first draft that matches it. */
function draftsOf(attack: Case): Draft[] {
  const { classification } = attack.evidence;
  if (classification === null) return [];
  const drafts: Draft[] = [];
  const taken = new Set<WeightedPacket>();
  for (const type of new Set([...classification.parts.map((part) => part.type), classification.type])) {
    const ofVector = vectorDrafts(type, attack, taken);
    drafts.push(...ofVector);
    for (const packet of ofVector.flatMap(({ packets }) => packets)) taken.add(packet);
  }
  return drafts;
}

function vectorDrafts(
  vector: Vector,
  { evidence, action, packets }: Case,
  taken: ReadonlySet<WeightedPacket>,
): Draft[] {
  const { signatures, isWide } = vectorRules(vector, evidence.prefix.family);
  const drafts = signatures.map((signature) => {
    const rule = { ...wideRule(evidence.prefix, action), ...signature };
    const matched = packets.filter((packet) => !taken.has(packet) && ruleMatches(rule, packet.header));
    const isOf = ({ header }: WeightedPacket) => !isWide || vectorOf(header) === vector;
    const [own, others] = [matched.filter(isOf), matched.filter((packet) => !isOf(packet))];
    return { rule, packets: own, others, isWide };
  });
  const heaviest = Math.max(0, ...drafts.map((draft) => weightOf(draft.packets)));
  // A small amount of a kind that also occurs in normal traffic is regarded as legitimate.
  const least = Math.max(weightOf(packets) * NOISE, isWide ? heaviest * FAR_BELOW : 0);
  return drafts.filter((draft) => weightOf(draft.packets) > least);
}

function narrowest({ rule, packets, others, isWide }: Draft, spare: number): readonly Rule[] {
  // In a small sample, one or two unrelated packets are a larger share than NOISE.
  const share = Math.max(isWide ? spare : NOISE, STRAYS / packets.length);
  return narrowed(rule, { packets, others, spare: weightOf(packets) * share });
}

/** Rules narrowed to sources. Empty: the sources of some draft are not concentrated. */
function anchoredToSources(drafts: readonly Draft[], spare: number, policy: FlowspecPolicy): readonly Rule[] {
  const rules: Rule[] = [];
  for (const draft of drafts) {
    const sources = sourcesInCommon(draft.packets, policy.minSourceConcentration);
    if (sources === null) return [];
    const narrow = narrowest(draft, spare);
    const base = narrow.length * sources.length <= RULES_MAX ? narrow : [draft.rule];
    rules.push(...sources.flatMap((source) => base.map((rule) => ({ ...rule, source }))));
  }
  return distinct(rules);
}

/** One rule for each protocol, if the packets have nothing else in common. */
function protocolRules({ evidence: { prefix }, packets, action }: Case): readonly Rule[] {
  const protocols = Map.groupBy(packets, ({ header }) => header.protocol);
  const least = weightOf(packets) * NOISE;
  const heavy = [...protocols].filter(([, of]) => weightOf(of) > least).map(([protocol]) => protocol);
  return heavy.map((protocol) => ({ ...wideRule(prefix, action), protocol }));
}

function distinct(rules: readonly Rule[]): readonly Rule[] {
  return [...new Map(rules.map((rule) => [matchText(rule), rule])).values()];
}

function mirroredPacket(packet: WeightedPacket): WeightedPacket {
  const { source, destination, ports } = packet.header;
  const mirroredPorts = ports === null ? null : { source: ports.destination, destination: ports.source };
  return { ...packet, header: { ...packet.header, source: destination, destination: source, ports: mirroredPorts } };
}

function mirroredRule(rule: Rule): Rule {
  const { source, destination, sourcePorts, destinationPorts } = rule;
  return {
    ...rule,
    source: destination,
    destination: source,
    sourcePorts: destinationPorts,
    destinationPorts: sourcePorts,
  };
}
