/**
 * The narrowest rules that catch an attack, made from what kind it is and from its packets. Pure. What the rules leave
 * over is less than the threshold that was crossed: wider ones take their place until that is so.
 */
import { type Classification, type TrafficUnit, vectorOf } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import type { Vector } from "../../detection/attack/vector.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { Direction } from "../../traffic/rates.ts";
import { matchesAllTowards, matchText, RULES_MAX, type Rule, type RuleAction, ruleMatches, wideRule } from "./rule.ts";
import { FAR_BELOW, narrowed, sourcesInCommon, type WeighedPacket, weightOf } from "./rule-narrowing.ts";
import { vectorRules } from "./vector-rules.ts";

export interface Evidence {
  /** The attacked host, or the prefix of a carpet attack; of an outgoing attack, the host that it comes from. */
  readonly prefix: Prefix;
  readonly direction: Direction;
  readonly classification: Classification | null;
  /** Of the attack, as far as they can be told from others. */
  readonly packets: readonly SampledPacket[];
  /** How many times its threshold the attack reaches; at least 1. */
  readonly timesThreshold: number;
  /** What it has too many of. */
  readonly unit: TrafficUnit;
}

export interface FlowspecPolicy {
  readonly action: RuleAction;
  /** Names sources where at least such a share comes from a few. */
  readonly sourceAnchored: boolean;
  readonly minSourceConcentration: number;
}

export interface GeneratedRules {
  /** At most RULES_MAX, each for the evidence's prefix. */
  readonly rules: readonly Rule[];
  /** Nothing narrower than all traffic of the prefix catches the attack. */
  readonly matchesAll: boolean;
}

/** A share of the packets that no rule needs to catch: noise. */
const NOISE = 0.015;
const STRAYS = 2;
/** The most that is taken for others' packets among an attack's. */
const OTHERS_MAX = 0.4;

/** A rule to be narrowed. */
interface Draft {
  readonly rule: Rule;
  /** What it is for. */
  readonly packets: readonly WeighedPacket[];
  /** What it matches besides. */
  readonly others: readonly WeighedPacket[];
  readonly isWide: boolean;
}

interface Case {
  readonly evidence: Evidence;
  readonly action: RuleAction;
  readonly packets: readonly WeighedPacket[];
}

export function rulesFor(evidence: Evidence, policy: FlowspecPolicy): GeneratedRules {
  const isOutgoing = evidence.direction === "outgoing";
  const packets = evidence.packets.map((packet) => weighed(packet, evidence.unit));
  // An outgoing attack is one seen from its other end.
  const seen = isOutgoing ? packets.map(mirroredPacket) : packets;
  const generated = generate({ evidence, action: policy.action, packets: seen }, policy);
  return isOutgoing ? { ...generated, rules: generated.rules.map(mirroredRule) } : generated;
}

function weighed({ header, standsFor, wireBytes }: SampledPacket, unit: TrafficUnit): WeighedPacket {
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
    policy.sourceAnchored ? anchored(drafts, spare, policy) : [],
    distinct(drafts.flatMap((draft) => narrowest(draft, spare))),
    distinct(drafts.map(({ rule }) => rule)),
    protocolRules(attack),
  ];
  const rules = candidates.find(isEnough) ?? [wideRule(evidence.prefix, action)];
  return { rules, matchesAll: rules.some(matchesAllTowards) };
}

/** What the drafts are for, where that is most of what there is: the rest is others' then. */
function packetsToCatch(drafts: readonly Draft[], { packets }: Case): readonly WeighedPacket[] {
  const drafted = drafts.flatMap((draft) => draft.packets);
  return weightOf(drafted) >= weightOf(packets) / 2 ? drafted : packets;
}

function missedShare(rules: readonly Rule[], packets: readonly WeighedPacket[]): number {
  const missed = packets.filter(({ header }) => !rules.some((rule) => ruleMatches(rule, header)));
  return weightOf(missed) / weightOf(packets);
}

/**
 * Before the attack the host was under its threshold: what is not the attack's is at most that, and what is left of it
 * is no attack.
 */
function spareShare(timesThreshold: number): number {
  return Math.max(NOISE, Math.min(OTHERS_MAX, 0.8 / timesThreshold));
}

/** By the attack's parts, most traffic first. A packet is for the first draft that it is of. */
function draftsOf(attack: Case): Draft[] {
  const { classification } = attack.evidence;
  if (classification === null) return [];
  const drafts: Draft[] = [];
  const taken = new Set<WeighedPacket>();
  for (const type of new Set([...classification.parts.map((part) => part.type), classification.type])) {
    const ofVector = vectorDrafts(type, attack, taken);
    drafts.push(...ofVector);
    for (const packet of ofVector.flatMap(({ packets }) => packets)) taken.add(packet);
  }
  return drafts;
}

function vectorDrafts(vector: Vector, { evidence, action, packets }: Case, taken: ReadonlySet<WeighedPacket>): Draft[] {
  const { signatures, isWide } = vectorRules(vector, evidence.prefix.family);
  const drafts = signatures.map((signature) => {
    const rule = { ...wideRule(evidence.prefix, action), ...signature };
    const matched = packets.filter((packet) => !taken.has(packet) && ruleMatches(rule, packet.header));
    const isOf = ({ header }: WeighedPacket) => !isWide || vectorOf(header) === vector;
    const [own, others] = [matched.filter(isOf), matched.filter((packet) => !isOf(packet))];
    return { rule, packets: own, others, isWide };
  });
  const heaviest = Math.max(0, ...drafts.map((draft) => weightOf(draft.packets)));
  // Of what people do too, a little is theirs.
  const least = Math.max(weightOf(packets) * NOISE, isWide ? heaviest * FAR_BELOW : 0);
  return drafts.filter((draft) => weightOf(draft.packets) > least);
}

function narrowest({ rule, packets, others, isWide }: Draft, spare: number): readonly Rule[] {
  // In a small sample one or two strays are more than noise by their share.
  const share = Math.max(isWide ? spare : NOISE, STRAYS / packets.length);
  return narrowed(rule, { packets, others, spare: weightOf(packets) * share });
}

/** Empty: the sources of some part are not concentrated. */
function anchored(drafts: readonly Draft[], spare: number, policy: FlowspecPolicy): readonly Rule[] {
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

/** The protocols that the packets are of: what is left where they have nothing else in common. */
function protocolRules({ evidence: { prefix }, packets, action }: Case): readonly Rule[] {
  const protocols = Map.groupBy(packets, ({ header }) => header.protocol);
  const least = weightOf(packets) * NOISE;
  const heavy = [...protocols].filter(([, of]) => weightOf(of) > least).map(([protocol]) => protocol);
  return heavy.map((protocol) => ({ ...wideRule(prefix, action), protocol }));
}

function distinct(rules: readonly Rule[]): readonly Rule[] {
  return [...new Map(rules.map((rule) => [matchText(rule), rule])).values()];
}

function mirroredPacket(packet: WeighedPacket): WeighedPacket {
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
