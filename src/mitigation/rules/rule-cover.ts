/**
 * Finds rules that together match the packets of an attack and hardly any of its users': each starts from what
 * distinguishes one kind of packet, and gets a further match field while it matches users. Pure. (Separate-and-conquer
 * rule induction, as in Cohen, "Fast effective rule induction", 1995.)
 */
import { vectorOf } from "../../detection/attack/classifier.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { exactly } from "./range.ts";
import {
  matchesOnlyDestination,
  matchText,
  RULES_MAX,
  type Rule,
  type RuleAction,
  ruleMatches,
  wideRule,
} from "./rule.ts";
import {
  FIELD_SHARE_MIN,
  FIELDS_MAX,
  GAIN_MIN,
  INSEPARABLE_RATIO_MIN,
  LEFT_SHARE_MAX,
  MIXED_SHARE_MIN,
  PART_SHARE_MIN,
  RULE_PACKETS_MIN,
  USERS_MATCHED_MAX,
  USERS_WEIGHT,
} from "./rule-bounds.ts";
import { fieldsFor, inCommon, type NarrowField } from "./rule-fields.ts";
import { vectorRules } from "./vector-rules.ts";
import { type WeightedPacket, weightOf } from "./weighted-packet.ts";

export interface CoverRequest {
  readonly prefix: Prefix;
  readonly action: RuleAction;
  /** Weights are shares of all traffic. */
  readonly attack: readonly WeightedPacket[];
  /** Weights add up to 1. */
  readonly users: readonly WeightedPacket[];
  /** The share of all traffic that users probably have. */
  readonly usersShare: number;
  /** The share of all traffic that may be left. */
  readonly spare: number;
  /**
   * The same while only segments of connections are left, which may be of users of whom nothing is known; 0: what users
   * send is known.
   */
  readonly spareConnections: number;
  /** The share of `attack` that may be of users. */
  readonly slack: number;
  /** Rules that are in force already; those that match attack packets and no users come first. */
  readonly present: readonly Rule[];
  readonly canExpress: CanExpress;
}

/** Whether the reader of the rules supports all match fields of a rule. */
export type CanExpress = (rule: Rule) => boolean;

export interface Cover {
  /** At most RULES_MAX. Empty: nothing distinguishes the attack. */
  readonly rules: readonly Rule[];
  /** The share of all traffic that is of the attack and not matched. */
  readonly left: number;
}

/** A rule with the attack packets that it matches, and the share of the users'. */
interface Found {
  readonly rule: Rule;
  readonly packets: readonly WeightedPacket[];
  readonly users: number;
}

export function coverOf(request: CoverRequest): Cover {
  const { attack, users, present, usersShare, spare, spareConnections } = request;
  const total = weightOf(attack);
  const enough = total * LEFT_SHARE_MAX;
  const least = total * PART_SHARE_MIN;
  let left = attack;
  const rules: Rule[] = [];
  const take = (rule: Rule) => {
    rules.push(rule);
    left = left.filter(({ header }) => !ruleMatches(rule, header));
  };
  for (const rule of present) {
    if (weightMatched(rule, left) >= least && weightMatched(rule, users) <= USERS_MATCHED_MAX) take(rule);
  }
  const mixed: Found[] = [];
  const given = new Set<string>();
  while (rules.length < RULES_MAX && weightOf(left) > enough) {
    const open = left.filter(({ header }) => !given.has(kindOf(header)));
    // What may be of users comes last.
    const certain = spareConnections === 0 ? open : open.filter(({ header }) => !isOfConnection(vectorOf(header)));
    const kind = heaviestKind(certain) ?? heaviestKind(open);
    if (kind === null) break;
    if (isOfConnection(kind.vector) && rules.length > 0 && weightOf(left) <= spareConnections) {
      given.add(kind.name);
      continue;
    }
    const found = startsOf(kind, request).map((start) => grownSteadily(start, { kind, left }, request));
    const best = bestOf(found, least);
    if (best === null) {
      given.add(kind.name);
      continue;
    }
    const isWorth =
      best.packets.length >= Math.min(RULE_PACKETS_MIN, attack.length / 4) && weightOf(best.packets) >= least;
    const { narrow: rule } = best;
    if (isWorth && best.users <= USERS_MATCHED_MAX) take(rule);
    else {
      given.add(kind.name);
      if (isWorth) mixed.push(foundBy(rule, best.packets, users));
    }
  }
  return withMixed({ rules, left, mixed, usersShare, spare, least: total * MIXED_SHARE_MIN });
}

const NARROW_FIELDS: readonly NarrowField[] = ["destinationPorts", "sourcePorts", "packetLength"];

interface Mixing {
  readonly rules: readonly Rule[];
  readonly left: readonly WeightedPacket[];
  readonly mixed: readonly Found[];
  readonly usersShare: number;
  readonly spare: number;
  /** The least share of all traffic that such a rule must match of the attack. */
  readonly least: number;
}

/** Adds rules that match users too, while what is left is an attack by itself: those first that harm least. */
function withMixed({ rules, left, mixed, usersShare, spare, least }: Mixing): Cover {
  const all = [...rules];
  let rest = left;
  const ratio = ({ packets, users }: Found) => weightOf(packets) / (users * usersShare || 1e-9);
  for (const found of mixed.toSorted((a, b) => ratio(b) - ratio(a))) {
    const isCalm = weightOf(rest) + usersShare <= spare;
    if (isCalm || all.length >= RULES_MAX || ratio(found) < INSEPARABLE_RATIO_MIN) break;
    if (weightMatched(found.rule, rest) < least) continue;
    all.push(found.rule);
    rest = rest.filter(({ header }) => !ruleMatches(found.rule, header));
  }
  return { rules: distinct(all), left: weightOf(rest) };
}

/** Segments as those of users have them. */
function isOfConnection(vector: string | null): boolean {
  return vector === "tcp_flood" || vector === "ack_flood";
}

interface Kind {
  readonly name: string;
  readonly vector: (ReturnType<typeof vectorOf> & string) | "mixed";
  readonly protocol: number;
}

function kindOf(header: PacketHeader): string {
  const { protocol, fragment, tcpFlags } = header;
  // Later fragments show nothing but their protocol. Flags that no system combines are apart from segments.
  if (fragment === "later") return `later ${protocol}`;
  const vector = vectorOf(header);
  return vector === "tcp_flood" ? `${vector} ${tcpFlags}` : `${vector} ${protocol}`;
}

function heaviestKind(packets: readonly WeightedPacket[]): Kind | null {
  const groups = Map.groupBy(packets, ({ header }) => kindOf(header));
  let heaviest: { name: string; weight: number; header: PacketHeader } | null = null;
  for (const [name, of] of groups) {
    const weight = weightOf(of);
    const [first] = of;
    if (first !== undefined && weight > (heaviest?.weight ?? 0)) heaviest = { name, weight, header: first.header };
  }
  if (heaviest === null) return null;
  const { name, header } = heaviest;
  return { name, vector: vectorOf(header) ?? "mixed", protocol: header.protocol };
}

/** The rules to begin with: what distinguishes the kind, as far as it can be expressed, or its protocol alone. */
function startsOf({ vector, protocol }: Kind, { prefix, action, canExpress }: CoverRequest): Rule[] {
  const wide = wideRule(prefix, action);
  const { signatures } = vectorRules(vector, prefix.family);
  const starts = signatures.map((signature) => ({ ...wide, ...signature }));
  return (starts.length > 0 ? starts : [{ ...wide, protocols: exactly(protocol) }])
    .map((start) => (canExpress(start) ? start : withoutUnsetFlags(start)))
    .filter((start) => canExpress(start) && !matchesOnlyDestination(start));
}

function withoutUnsetFlags(rule: Rule): Rule {
  const set = rule.tcpFlags?.set ?? 0;
  return { ...rule, tcpFlags: set === 0 ? null : { set, unset: 0 } };
}

/** The rule with those of the fields that can be expressed. */
function narrowed(rule: Rule, fields: Partial<Rule>, canExpress: CanExpress): Rule {
  let narrow = rule;
  for (const [name, value] of Object.entries(fields)) {
    const narrower = { ...narrow, [name]: value };
    if (canExpress(narrower)) narrow = narrower;
  }
  return narrow;
}

interface Grown extends Found {
  /** The rule with what its packets have in common besides. */
  readonly narrow: Rule;
}

interface Growing {
  readonly kind: Kind;
  /** The attack packets that no rule matches yet. */
  readonly left: readonly WeightedPacket[];
}

/**
 * As grown(), by fields that the attack has not moved in, as long as these separate it from users, too: whoever moves
 * away from a rule moves again.
 */
function grownSteadily(start: Rule, { kind, left }: Growing, request: CoverRequest): Grown {
  const moved = new Set<NarrowField>();
  const grow = (): Grown => {
    const found = grown(start, left, request, moved);
    const common = isUsual(kind) ? inCommon(found.rule, found.packets, request.slack, moved) : {};
    return { ...found, narrow: narrowed(found.rule, common, request.canExpress) };
  };
  let found = grow();
  for (;;) {
    const field = movedField(start, found.narrow, request.present, moved);
    if (field === null) return found;
    moved.add(field);
    const other = grow();
    const isAsGood = weightOf(other.packets) >= (1 - LEFT_SHARE_MAX) * weightOf(found.packets);
    if (!isAsGood || other.users > Math.max(USERS_MATCHED_MAX, found.users)) return found;
    found = other;
  }
}

/** In which the rule, grown from `start`, has other values than one in force that is otherwise the same. */
function movedField(
  start: Rule,
  rule: Rule,
  present: readonly Rule[],
  known: ReadonlySet<NarrowField>,
): NarrowField | null {
  const isMoved = (field: NarrowField) => {
    const without = (each: Rule) => matchText({ ...each, [field]: start[field] });
    const isNarrow = (each: Rule) => matchText(each) !== without(each);
    const others = present.filter((each) => isNarrow(each) && matchText(each) !== matchText(rule));
    return isNarrow(rule) && others.some((each) => without(each) === without(rule));
  };
  return NARROW_FIELDS.find((field) => !known.has(field) && isMoved(field)) ?? null;
}

/** Adds the match field that gains most, while the rule matches users. */
function grown(
  start: Rule,
  attack: readonly WeightedPacket[],
  { users, canExpress }: Pick<CoverRequest, "users" | "canExpress">,
  moved: ReadonlySet<NarrowField>,
): Found {
  const total = weightOf(attack.filter(({ header }) => ruleMatches(start, header)));
  let found = foundBy(start, attack, users);
  let matchedUsers = users.filter(({ header }) => ruleMatches(start, header));
  for (let fields = 0; fields < FIELDS_MAX && matchedUsers.length > 0; fields++) {
    let best = found;
    for (const change of fieldsFor(found.rule, found.packets, matchedUsers, moved)) {
      const rule = { ...found.rule, ...change };
      if (!canExpress(rule)) continue;
      const candidate = foundBy(rule, found.packets, matchedUsers);
      const isMostKept = weightOf(candidate.packets) >= FIELD_SHARE_MIN * weightOf(found.packets);
      if (isMostKept && gainOf(candidate, total) > gainOf(best, total)) best = candidate;
    }
    if (gainOf(best, total) - gainOf(found, total) < GAIN_MIN) break;
    found = best;
    matchedUsers = matchedUsers.filter(({ header }) => ruleMatches(best.rule, header));
  }
  return found;
}

/** The one that matches most of the attack, of those that match no users if one of them matches enough; null: none. */
function bestOf<Each extends Found>(found: readonly Each[], least: number): Each | null {
  if (found.length === 0) return null;
  const pure = found.filter(({ packets, users }) => users <= USERS_MATCHED_MAX && weightOf(packets) >= least);
  return (pure.length > 0 ? pure : found).reduce((a, b) => (weightOf(b.packets) > weightOf(a.packets) ? b : a));
}

function foundBy(rule: Rule, attack: readonly WeightedPacket[], users: readonly WeightedPacket[]): Found {
  const packets = attack.filter(({ header }) => ruleMatches(rule, header));
  return { rule, packets, users: weightMatched(rule, users) };
}

function gainOf({ packets, users }: Found, total: number): number {
  return weightOf(packets) / (total || 1) - USERS_WEIGHT * users;
}

/** What users may send is matched only as far as the packets of the attack have something in common. */
function isUsual({ vector }: Kind): boolean {
  return vector !== "mixed" && vectorRules(vector, 4).isWide;
}

function weightMatched(rule: Rule, packets: readonly WeightedPacket[]): number {
  let sum = 0;
  for (const { header, weight } of packets) if (ruleMatches(rule, header)) sum += weight;
  return sum;
}

export function distinct(rules: readonly Rule[]): readonly Rule[] {
  return [...new Map(rules.map((rule) => [matchText(rule), rule])).values()];
}
