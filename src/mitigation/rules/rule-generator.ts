/**
 * Generates the rules that match an attack and not its users, from its packets and from the host's traffic before it.
 * Pure. Rules that match users too are made only while the traffic that is left would be an attack by itself.
 */
import type { SampledPacket } from "../../detection/attack/sample.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { type SeparatedTraffic, separated } from "./attack-packets.ts";
import { exactly } from "./range.ts";
import { matchesOnlyDestination, RULES_MAX, type Rule, type RuleAction, ruleMatches, wideRule } from "./rule.ts";
import {
  ATTACK_SHARE_MIN,
  BETTER_MIN,
  COMMON_SLACK,
  LEFT_SHARE_MAX,
  MIXED_SLACK,
  PART_SHARE_MIN,
  PROFILE_PACKETS_MIN,
  SEPARABLE_USERS_MAX,
  USERS_KEPT_MAX,
  WORTH_OF_USERS,
} from "./rule-bounds.ts";
import { type CanExpress, coverOf, distinct } from "./rule-cover.ts";
import { sourcesInCommon } from "./rule-sources.ts";
import type { SeenTraffic } from "./seen-traffic.ts";
import { type WeightedPacket, weightOf, weightsBy } from "./weighted-packet.ts";

export interface Evidence extends SeenTraffic {
  /** The attacked host, or the prefix of a carpet attack; in an outgoing attack, the sending host. */
  readonly prefix: Prefix;
}

export interface FlowspecPolicy {
  readonly action: RuleAction;
  /** Whether rules name sources when a few of them send most packets. */
  readonly sourceAnchored: boolean;
  readonly minSourceConcentration: number;
}

export interface GeneratedRules {
  /** At most RULES_MAX, each for the evidence's prefix. The present ones if they are good enough. */
  readonly rules: readonly Rule[];
  /** No rule narrower than all traffic of the prefix matches the attack. */
  readonly matchesAll: boolean;
  /** False: the rules match legitimate traffic too, since nothing distinguishes the attack from it. */
  readonly isSeparable: boolean;
}

/** The share of the traffic that is probably of users if their usual rate is not known. */
const USERS_SHARE_MAX = 0.4;

/** @param present rules that are in force. */
export function rulesFor(evidence: Evidence, policy: FlowspecPolicy, present: readonly Rule[] = []): GeneratedRules {
  if (evidence.direction === "incoming") return generate(evidence, policy, present);
  // An outgoing attack is processed with source and destination swapped.
  const mirrored = { ...evidence, packets: evidence.packets.map(mirroredPacket), profile: null };
  const generated = generate(mirrored, policy, present.map(mirroredRule));
  return { ...generated, rules: generated.rules.map(mirroredRule) };
}

function generate(evidence: Evidence, policy: FlowspecPolicy, before: readonly Rule[]): GeneratedRules {
  const traffic = separated(evidence);
  const present = before.filter((rule) => !matchesOnlyDestination(rule));
  const rules = keptOrFound(evidence, traffic, policy, present, () => true);
  if (rules.length > 0) return narrowRules(rules, traffic);
  // All packets are like those before the attack: any rule would match users alone.
  if (evidence.profile !== null) return { rules: [], matchesAll: false, isSeparable: false };
  if (present.length > 0) return narrowRules(present, traffic);
  const wide = protocolRules(evidence, traffic, policy.action);
  return { rules: wide, matchesAll: wide.some(matchesOnlyDestination), isSeparable: false };
}

/** The present rules if they are good enough, else those found. Empty: nothing distinguishes the attack. */
export function keptOrFound(
  evidence: Evidence,
  traffic: SeparatedTraffic,
  policy: FlowspecPolicy,
  present: readonly Rule[],
  canExpress: CanExpress,
): readonly Rule[] {
  if (present.length > 0 && isGood(present, traffic)) return present;
  const rules = foundRules(evidence, traffic, policy, present, canExpress);
  const isKept = rules.length > 0 && present.length > 0 && !isBetter(rules, present, traffic);
  return isKept ? present : rules;
}

/** Rules that are narrower than a protocol, those in force first. Empty: nothing distinguishes the attack. */
function foundRules(
  { prefix, timesThreshold, profile }: Evidence,
  traffic: SeparatedTraffic,
  policy: FlowspecPolicy,
  present: readonly Rule[],
  canExpress: CanExpress,
): readonly Rule[] {
  const { attack, users } = traffic;
  if (weightOf(attack) < ATTACK_SHARE_MIN) return [];
  const threshold = 1 / timesThreshold;
  const request = {
    prefix,
    action: policy.action,
    attack,
    users,
    usersShare: traffic.usersShare ?? Math.min(USERS_SHARE_MAX, threshold),
    // Without a profile, the packets of an unusual class are all taken for the attack.
    spare: profile === null ? 0 : threshold,
    spareConnections: profile === null || profile.packets.length < PROFILE_PACKETS_MIN ? threshold : 0,
    slack: profile === null ? MIXED_SLACK : COMMON_SLACK,
    canExpress,
  };
  const extended = coverOf({ ...request, present });
  const isFull = extended.rules.length >= RULES_MAX && extended.left > LEFT_SHARE_MAX && present.length > 0;
  const { rules } = isFull ? coverOf({ ...request, present: [] }) : extended;
  return (policy.sourceAnchored ? anchoredToSources(rules, traffic, policy, threshold) : null) ?? rules;
}

function narrowRules(rules: readonly Rule[], { users }: SeparatedTraffic): GeneratedRules {
  return { rules, matchesAll: false, isSeparable: matchedWeight(rules, users) <= SEPARABLE_USERS_MAX };
}

/** Chance alone makes no other rules; further rules beside those in force are made for a smaller part. */
function isBetter(rules: readonly Rule[], present: readonly Rule[], traffic: SeparatedTraffic): boolean {
  const isExtension = present.every((rule) => rules.includes(rule));
  const least = isExtension ? PART_SHARE_MIN : BETTER_MIN;
  return worthOf(rules, traffic) >= worthOf(present, traffic) + least;
}

/** While an attack pauses, its rules stay. */
function isGood(rules: readonly Rule[], { attack, users }: SeparatedTraffic): boolean {
  const missed = weightOf(attack) - matchedWeight(rules, attack);
  const isEnough = missed <= LEFT_SHARE_MAX * weightOf(attack) || weightOf(attack) < ATTACK_SHARE_MIN;
  return isEnough && matchedWeight(rules, users) <= USERS_KEPT_MAX;
}

/** What rules match of the attack, less what they match of users. */
function worthOf(rules: readonly Rule[], { attack, users }: SeparatedTraffic): number {
  return matchedWeight(rules, attack) / (weightOf(attack) || 1) - WORTH_OF_USERS * matchedWeight(rules, users);
}

function matchedWeight(rules: readonly Rule[], packets: readonly WeightedPacket[]): number {
  return weightOf(packets.filter(({ header }) => rules.some((rule) => ruleMatches(rule, header))));
}

/** The rules for those sources that send most of what they match; null: the sources are not concentrated. */
function anchoredToSources(
  rules: readonly Rule[],
  { attack }: SeparatedTraffic,
  { minSourceConcentration }: FlowspecPolicy,
  spare: number,
): readonly Rule[] | null {
  const anchored: Rule[] = [];
  let left = attack;
  for (const rule of rules) {
    const matched = left.filter(({ header }) => ruleMatches(rule, header));
    const sources = sourcesInCommon(matched, minSourceConcentration);
    if (sources === null) return null;
    anchored.push(...sources.map((source) => ({ ...rule, source })));
    left = left.filter((packet) => !matched.includes(packet));
  }
  const missed = attack.filter(({ header }) => !anchored.some((rule) => ruleMatches(rule, header)));
  const isEnough = anchored.length <= RULES_MAX && weightOf(missed) <= Math.max(0.8 * spare, LEFT_SHARE_MAX);
  return isEnough ? distinct(anchored) : null;
}

/** One rule for each protocol if a few have all of the traffic, else a rule for all. */
function protocolRules({ prefix }: Evidence, { all }: SeparatedTraffic, action: RuleAction): readonly Rule[] {
  const wide = wideRule(prefix, action);
  const heavy = [...weightsBy(all, ({ protocol }) => protocol)].filter(([, weight]) => weight > LEFT_SHARE_MAX);
  const sum = heavy.reduce((total, [, weight]) => total + weight, 0);
  const isAll = heavy.length > 0 && heavy.length <= RULES_MAX && sum >= 1 - 2 * LEFT_SHARE_MAX;
  return isAll ? heavy.map(([protocol]) => ({ ...wide, protocols: exactly(protocol) })) : [wide];
}

function mirroredPacket(packet: SampledPacket): SampledPacket {
  return { ...packet, header: mirroredHeader(packet.header) };
}

function mirroredHeader(header: PacketHeader): PacketHeader {
  const { source, destination, ports } = header;
  const mirroredPorts = ports === null ? null : { source: ports.destination, destination: ports.source };
  return { ...header, source: destination, destination: source, ports: mirroredPorts };
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
