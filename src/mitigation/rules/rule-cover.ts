/**
 * Finds rules that together match the packets of an attack and hardly any of its users': each starts from what
 * distinguishes one kind of packet, and gets a further match field while it matches users. Pure. (Separate-and-conquer
 * rule induction, as in Cohen, "Fast effective rule induction", 1995.)
 */
import type { Vector } from "../../detection/attack/vector.ts";
import { exactly, onlyValue, type Range, without } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { RuleAction } from "./action.ts";
import { USUAL_PROTOCOLS } from "./drawn-values.ts";
import type { FlatHeader } from "./flat-header.ts";
import { matchesOnlyDestination, matchText, PROTOCOL_MAX, ruleMatches } from "./match.ts";
import { ANY_PACKET, RULES_MAX, type Rule } from "./rule.ts";
import {
  FIELD_SHARE_MIN,
  LEFT_SHARE_MAX,
  MIXED_KEPT_MIN,
  MIXED_SHARE_MIN,
  MIXED_USERS_WEIGHT,
  PART_SHARE_MIN,
  RULE_PACKETS_MIN,
  SIMPLE_SHARE_MIN,
  USERS_WEIGHT,
} from "./rule-bounds.ts";
import { inCommon, type LengthRanges, type NarrowField } from "./rule-fields.ts";
import { type Found, GrowingRule, grown } from "./rule-growth.ts";
import { fittingParts } from "./rule-parts.ts";
import { type UsersAtRisk, weightMatched } from "./users-at-risk.ts";
import { vectorRules } from "./vector-rules.ts";
import { type WeightedPacket, weightOf } from "./weighted-packet.ts";

/** Rules are searched without the prefix, which all packets are of. */
interface CoverRequest {
  readonly family: 4 | 6;
  readonly action: RuleAction;
  /** Weights are shares of all traffic. */
  readonly all: readonly WeightedPacket[];
  readonly attack: readonly WeightedPacket[];
  readonly users: UsersAtRisk;
  /** The share of all traffic that may be left. */
  readonly mostLeft: number;
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
  /** Those of them that spare users. */
  readonly sparing: readonly Rule[];
  /** The share of all traffic that is of the attack and not matched. */
  readonly left: number;
}

export function coverOf(request: CoverRequest): Cover {
  const { all, attack, users, present, mostLeft } = request;
  const total = weightOf(attack);
  const enough = total * LEFT_SHARE_MAX;
  const least = total * PART_SHARE_MIN;
  const packetsLeast = Math.min(RULE_PACKETS_MIN, attack.length / 4);
  let left = attack;
  let rest = all;
  const rules: Rule[] = [];
  const take = (rule: Rule) => {
    rules.push(...fittingParts(rule));
    left = left.filter(({ header }) => !ruleMatches(rule, header));
    rest = rest.filter(({ header }) => !ruleMatches(rule, header));
  };
  for (const rule of present) {
    if (weightMatched(rule, left) >= least && users.matched(rule) <= users.tolerated) take(rule);
  }
  const given = new Set<string>();
  for (let tried = 0; tried < KINDS_TRIED_MAX && rules.length < RULES_MAX && weightOf(left) > enough; tried++) {
    const kind = heaviestKind(left.filter(({ header }) => !given.has(header.kind)));
    if (kind === null) break;
    const best = steadyRule(kind, left, { ...request, least, packetsLeast });
    if (best !== null) take(best.narrow);
    else given.add(kind.name);
  }
  const sparing = distinct(rules).slice(0, RULES_MAX);
  // Nothing more than what brings the rest below the threshold.
  while (rules.length < RULES_MAX && weightOf(rest) > mostLeft) {
    const mixed = mixedRule(left, request);
    if (mixed === null) break;
    take(mixed);
  }
  return { rules: distinct(rules).slice(0, RULES_MAX), sparing, left: weightOf(left) };
}

/** Another choice of lengths is taken if it has this many times as much of the attack: fewer rules do, then. */
const OTHER_LENGTHS_TIMES = 1.5;

interface Wanted extends CoverRequest {
  /** The weight of the attack that a rule must match, and the number of its packets. */
  readonly least: number;
  readonly packetsLeast: number;
}

/** The rule for most of the kind, by the first way to choose lengths that has enough of it; null: none is worth it. */
function steadyRule(kind: Kind, left: readonly WeightedPacket[], request: Wanted): Grown | null {
  const { least, packetsLeast, users } = request;
  // A rule that is narrowed matches no more.
  const begun = startsOf(kind, request).flatMap((start) => GrowingRule.from(start, left, users, least) ?? []);
  if (begun.every(({ packets }) => packets.length < packetsLeast)) return null;
  const isWorth = (each: Grown) =>
    each.users <= users.tolerated && each.packets.length >= packetsLeast && each.weight >= least;
  const enough = SIMPLE_SHARE_MIN * weightOf(left.filter(({ header }) => header.kind === kind.name));
  let best: Grown | null = null;
  for (const ranges of LENGTH_CHOICES) {
    const found = begun.map((each) => grownSteadily(each, { kind, ranges }, request));
    const other = bestOf(found, least, users.tolerated);
    const isMore = (other?.weight ?? 0) > OTHER_LENGTHS_TIMES * (best?.weight ?? 0);
    if (other !== null && isWorth(other) && isMore) best = other;
    if ((best?.weight ?? 0) >= enough) break;
  }
  return best;
}

/** An attacker may send packets of very many kinds: most of them are too few for a rule. */
const KINDS_TRIED_MAX = 24;

/** The rule that matches most of the attack beyond what it matches of users; null: none has enough of the attack. */
function mixedRule(left: readonly WeightedPacket[], request: CoverRequest): Rule | null {
  const total = weightOf(request.attack);
  const growth = { ...request, usersWeight: MIXED_USERS_WEIGHT, keptMin: MIXED_KEPT_MIN, ranges: "own" } as const;
  let best: { readonly rule: Rule; readonly worth: number } | null = null;
  for (const packets of Map.groupBy(left, ({ header }) => header.kind).values()) {
    const kind = heaviestKind(packets);
    for (const start of kind === null ? [] : startsOf(kind, request)) {
      const begun = GrowingRule.from(start, left, request.users, 0);
      if (begun === null || begun.weight / total < MIXED_SHARE_MIN) continue;
      const found = grown(begun, growth, NONE);
      const share = found.weight / total;
      const worth = share - found.users;
      if (share < MIXED_SHARE_MIN || (best !== null && worth <= best.worth)) continue;
      const common = inCommon(found.rule, found.packets, request.slack, NONE);
      best = { rule: narrowed(found.rule, common, request.canExpress), worth };
    }
  }
  return best?.rule ?? null;
}

const NONE: ReadonlySet<NarrowField> = new Set();
const NARROW_FIELDS: readonly NarrowField[] = ["destinationPorts", "sourcePorts", "packetLengths"];

interface Kind {
  readonly name: string;
  readonly vector: Vector;
  readonly protocol: number;
}

function heaviestKind(packets: readonly WeightedPacket[]): Kind | null {
  const groups = Map.groupBy(packets, ({ header }) => header.kind);
  let heaviest: { name: string; weight: number; header: FlatHeader } | null = null;
  for (const [name, of] of groups) {
    const weight = weightOf(of);
    const [first] = of;
    if (first !== undefined && weight > (heaviest?.weight ?? 0)) heaviest = { name, weight, header: first.header };
  }
  if (heaviest === null) return null;
  const { name, header } = heaviest;
  return { name, vector: header.vector ?? "mixed", protocol: header.protocol };
}

/** All but those that users have. */
function otherProtocols(users: UsersAtRisk): readonly Range[] {
  const known = new Set([...USUAL_PROTOCOLS, ...users.packets.map(({ header }) => header.protocol)]);
  return without(
    { from: 0, to: PROTOCOL_MAX },
    [...known].map((value) => ({ from: value, to: value })),
  );
}

/** The rules to begin with: what distinguishes the kind, as far as it can be expressed, or its protocol alone. */
function startsOf({ vector, protocol }: Kind, { family, action, users, canExpress }: CoverRequest): Rule[] {
  const wide = { ...ANY_PACKET, action };
  const { signatures } = vectorRules(vector, family);
  const ofProtocol = { ...wide, protocols: exactly(protocol) };
  const base = vector === "fragment_flood" ? ofProtocol : wide;
  const starts: Rule[] = signatures.map((signature) => ({ ...base, ...signature }));
  // Flags may be drawn at random.
  if (protocol === IP_PROTOCOL.tcp || starts.length === 0) starts.push(ofProtocol);
  if (vector === "mixed") starts.push({ ...wide, protocols: otherProtocols(users) });
  return starts
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
  readonly ranges: readonly LengthRanges[];
}

/**
 * Without ranges of lengths, if that spares users and matches most: they may be cut by chance. Where no range between
 * lengths of users does either, other fields may separate the lengths that are left of the attack.
 */
const LENGTH_CHOICES: readonly (readonly LengthRanges[])[] = [["none", "between users"], ["beside users"]];

/**
 * As grown(), by fields that the attack has not moved in, as long as these separate it from users, too: an
 * attacker who moves away from a rule moves again.
 */
function grownSteadily(begun: GrowingRule, { kind, ranges }: Growing, request: CoverRequest): Grown {
  const moved = new Set<NarrowField>();
  const grow = (): Grown => {
    const found = grownSimply(begun, { ...request, ranges }, moved);
    const common =
      isUsual(kind) || isOfProtocol(begun.rule) ? inCommon(found.rule, found.packets, request.slack, moved) : {};
    return { ...found, narrow: narrowed(found.rule, common, request.canExpress) };
  };
  let found = grow();
  for (;;) {
    const field = movedField(begun.rule, found.narrow, request.present, moved);
    if (field === null) return found;
    moved.add(field);
    const other = grow();
    const isAsGood = other.weight >= (1 - LEFT_SHARE_MAX) * found.weight;
    if (!isAsGood || other.users > Math.max(request.users.tolerated, found.users)) return found;
    found = other;
  }
}

/** The field in which the new rule, grown from `start`, differs from a rule in force that is otherwise equal. */
function movedField(
  start: Rule,
  rule: Rule,
  present: readonly Rule[],
  known: ReadonlySet<NarrowField>,
): NarrowField | null {
  if (present.length === 0) return null;
  const isMoved = (field: NarrowField) => {
    const without = (each: Rule) => matchText({ ...each, [field]: start[field] });
    const isNarrow = (each: Rule) => matchText(each) !== without(each);
    const others = present.filter((each) => isNarrow(each) && matchText(each) !== matchText(rule));
    return isNarrow(rule) && others.some((each) => without(each) === without(rule));
  };
  return NARROW_FIELDS.find((field) => !known.has(field) && isMoved(field)) ?? null;
}

/** By the first choice of lengths that spares users and matches most, or else by the last. */
function grownSimply(
  begun: GrowingRule,
  { ranges: [first = "none", ...others], ...request }: CoverRequest & Pick<Growing, "ranges">,
  moved: ReadonlySet<NarrowField>,
): Found {
  const growth = { ...request, usersWeight: USERS_WEIGHT, keptMin: FIELD_SHARE_MIN };
  const found = grown(begun, { ...growth, ranges: first }, moved);
  const isEnough = found.weight >= SIMPLE_SHARE_MIN * begun.weight;
  const isSimple = found.users <= request.users.tolerated && isEnough;
  return isSimple || others.length === 0 ? found : grownSimply(begun, { ...request, ranges: others }, moved);
}

/** The one that matches most of the attack, of those that match no users if one of them matches enough; null: none. */
function bestOf<Each extends Found>(found: readonly Each[], least: number, tolerated: number): Each | null {
  if (found.length === 0) return null;
  const pure = found.filter(({ weight, users }) => users <= tolerated && weight >= least);
  return (pure.length > 0 ? pure : found).reduce((a, b) => (b.weight > a.weight ? b : a));
}

/** Whether the rule asks for TCP and nothing else: flags that are drawn at random come with other fields in common. */
function isOfProtocol(rule: Rule): boolean {
  const isTcp = onlyValue(rule.protocols) === IP_PROTOCOL.tcp;
  return isTcp && rule.tcpFlags === null && rule.sourcePorts.length + rule.destinationPorts.length === 0;
}

/** Kinds of packets that users may send, too, are matched only by fields that the attack's packets have in common. */
function isUsual({ vector }: Kind): boolean {
  return vector !== "mixed" && vectorRules(vector, 4).isWide;
}

export function distinct(rules: readonly Rule[]): readonly Rule[] {
  return rules.length < 2 ? rules : [...new Map(rules.map((rule) => [matchText(rule), rule])).values()];
}
