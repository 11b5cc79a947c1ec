/**
 * Generates the rules that match an attack and not its users, from its packets and from the host's traffic before it.
 * Pure. Rules that match users too are made only while the traffic that is left would be an attack by itself.
 */
import { isOrdinaryClass } from "../../detection/attack/ordinary-traffic.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import type { Prefix } from "../../net/prefix.ts";
import { exactly } from "../../net/range.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import type { Separability } from "../separability.ts";
import type { RuleAction } from "./action.ts";
import { type SeparatedTraffic, separated } from "./attack-packets.ts";
import { matchesOnlyDestination, ruleMatches } from "./match.ts";
import { ANY_PACKET, RULES_MAX, type Rule } from "./rule.ts";
import {
  ATTACK_SHARE_MIN,
  BETTER_MIN,
  COMMON_SLACK,
  LEFT_SHARE_MAX,
  MIXED_BETTER_MIN,
  MIXED_SLACK,
  MIXED_USERS_WEIGHT,
  PART_SHARE_MIN,
  USERS_KEPT_MAX,
  WORTH_OF_USERS,
} from "./rule-bounds.ts";
import { type CanExpress, type Cover, coverOf, distinct } from "./rule-cover.ts";
import { judgedRules, type RuleRisk } from "./rule-separability.ts";
import { sourcesInCommon } from "./rule-sources.ts";
import type { SeenTraffic } from "./seen-traffic.ts";
import { matchedBy, UsersAtRisk } from "./users-at-risk.ts";
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
  /** The hosts' services, by configuration. Absent, or null: not known. */
  readonly services?: SeenTraffic["services"];
}

export interface GeneratedRules {
  /** At most RULES_MAX, each for the evidence's prefix. The present ones if they are good enough. */
  readonly rules: readonly Rule[];
  /** No rule narrower than all traffic of the prefix matches the attack. */
  readonly matchesAll: boolean;
  readonly separability: Separability;
  /** The risk of each rule, in the order of the rules. */
  readonly atRisk: readonly RuleRisk[];
  /** The share of all traffic that the rules match, in the unit of the threshold. */
  readonly matchedShare: number;
}

/** @param present rules that are in force. */
export function rulesFor(evidence: Evidence, policy: FlowspecPolicy, present: readonly Rule[] = []): GeneratedRules {
  // An outgoing attack is processed with source and destination swapped.
  const isIncoming = evidence.direction === "incoming";
  const seen = isIncoming ? evidence : { ...evidence, packets: evidence.packets.map(mirroredPacket), profile: null };
  const known = withoutPrefix(isIncoming ? present : present.map(mirroredRule));
  const generated = generate(seen, policy, [...known.keys()]);
  const rules = withPrefix(generated.rules, known, evidence.prefix);
  return { ...generated, rules: isIncoming ? rules : rules.map(mirroredRule) };
}

/** All packets are of the prefix: rules are searched for without it, so that none is compared with it. */
export function withoutPrefix(present: readonly Rule[]): ReadonlyMap<Rule, Rule> {
  return new Map(present.map((rule) => [{ ...rule, destination: null }, rule]));
}

/** @param known present rules, which are the same objects again, by what was searched with. */
export function withPrefix(rules: readonly Rule[], known: ReadonlyMap<Rule, Rule>, destination: Prefix): Rule[] {
  return rules.map((rule) => known.get(rule) ?? { ...rule, destination });
}

function generate(evidence: Evidence, policy: FlowspecPolicy, before: readonly Rule[]): GeneratedRules {
  const present = before.filter((rule) => !matchesOnlyDestination(rule));
  const traffic = withoutOld(separated(evidence), present);
  const found = keptOrFound(evidence, traffic, policy, present, () => true);
  // Nothing narrower than a protocol has enough of the attack.
  const rules = found.length > 0 ? found : present.length > 0 ? present : protocolRules(traffic, policy.action);
  return {
    rules,
    matchesAll: rules.some(matchesOnlyDestination),
    ...judgedRules(rules, traffic, evidence),
    matchedShare: matchedBy(rules, traffic.all),
  };
}

/**
 * If an attack has moved on, old packets of it are left in the sample. If all other packets are taken for users, this
 * removes those that the rules in force match and users seldom send.
 */
function withoutOld(traffic: SeparatedTraffic, present: readonly Rule[]): SeparatedTraffic {
  const { users } = traffic;
  if (!users.areOthers || present.length === 0) return traffic;
  const isOld = ({ header }: WeightedPacket) =>
    !isOrdinaryClass(header.class) && present.some((rule) => ruleMatches(rule, header));
  return { ...traffic, users: { ...users, seen: users.seen.filter((packet) => !isOld(packet)) } };
}

/** The present rules if they are good enough, else those found. Empty: nothing distinguishes the attack. */
export function keptOrFound(
  evidence: Evidence,
  traffic: SeparatedTraffic,
  policy: FlowspecPolicy,
  present: readonly Rule[],
  canExpress: CanExpress,
): readonly Rule[] {
  const users = new UsersAtRisk(traffic.users);
  if (present.length > 0 && isGood(present, traffic.attack, users)) return present;
  const { rules, sparing } = foundRules(evidence, traffic, { policy, users, present, canExpress });
  if (rules.length === 0 || present.length === 0) return rules;
  // Rules that match users too may not be worth it, where those beside them are.
  const candidates = present.every((rule) => sparing.includes(rule)) ? [rules, sparing] : [rules];
  return candidates.find((each) => isBetter(each, present, traffic.attack, users)) ?? present;
}

interface Search {
  readonly policy: FlowspecPolicy;
  readonly users: UsersAtRisk;
  readonly present: readonly Rule[];
  readonly canExpress: CanExpress;
}

type FoundRules = Pick<Cover, "rules" | "sparing">;
const NO_RULES: FoundRules = { rules: [], sparing: [] };

/** Rules that are narrower than a protocol, those in force first. Empty: nothing distinguishes the attack. */
function foundRules(evidence: Evidence, traffic: SeparatedTraffic, search: Search): FoundRules {
  const { prefix, timesThreshold, profile } = evidence;
  const { policy, users, present, canExpress } = search;
  const { all, attack } = traffic;
  if (weightOf(attack) < ATTACK_SHARE_MIN) return NO_RULES;
  const request = {
    family: prefix.family,
    action: policy.action,
    all,
    attack,
    users,
    mostLeft: traffic.mostLeft,
    slack: profile === null ? MIXED_SLACK : COMMON_SLACK,
    canExpress,
  };
  const extended = coverOf({ ...request, present });
  const isFull = extended.rules.length >= RULES_MAX && extended.left > LEFT_SHARE_MAX && present.length > 0;
  const cover = isFull ? coverOf({ ...request, present: [] }) : extended;
  const anchored = policy.sourceAnchored ? anchoredToSources(cover.rules, traffic, policy, 1 / timesThreshold) : null;
  return anchored === null ? cover : { rules: anchored, sparing: anchored };
}

/**
 * Chance alone makes no other rules; further rules beside those in force are made for a smaller part. Where rules match
 * users anyway, what they match of them varies with the sample.
 */
function isBetter(
  rules: readonly Rule[],
  present: readonly Rule[],
  attack: readonly WeightedPacket[],
  users: UsersAtRisk,
): boolean {
  const [of, ofPresent] = [rules, present].map((each) => matchedBy(each, users.packets)) as [number, number];
  const isMixed = Math.min(of, ofPresent) > Math.max(USERS_KEPT_MAX, users.tolerated);
  const weight = isMixed ? MIXED_USERS_WEIGHT : WORTH_OF_USERS;
  const share = (each: readonly Rule[]) => matchedBy(each, attack) / (weightOf(attack) || 1);
  const gain = share(rules) - share(present) - weight * (of - ofPresent);
  if (isMixed) return gain >= MIXED_BETTER_MIN;
  return gain >= (present.every((rule) => rules.includes(rule)) ? PART_SHARE_MIN : BETTER_MIN);
}

/** While an attack pauses, its rules stay. */
function isGood(rules: readonly Rule[], attack: readonly WeightedPacket[], users: UsersAtRisk): boolean {
  const missed = weightOf(attack) - matchedBy(rules, attack);
  const isEnough = missed <= LEFT_SHARE_MAX * weightOf(attack) || weightOf(attack) < ATTACK_SHARE_MIN;
  return isEnough && matchedBy(rules, users.packets) <= Math.max(USERS_KEPT_MAX, users.tolerated);
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
function protocolRules({ all }: SeparatedTraffic, action: RuleAction): readonly Rule[] {
  const wide = { ...ANY_PACKET, action };
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
