/** Narrows a rule by one match field after the other, as long as it matches users. Pure. */
import { changeMatcher } from "./change-matcher.ts";
import { ruleMatches } from "./match.ts";
import type { Rule } from "./rule.ts";
import { FIELDS_MAX, GAIN_MIN } from "./rule-bounds.ts";
import {
  fieldsFor,
  type LengthRanges,
  type NarrowField,
  type Narrowing,
  type SteadyFields,
  steadyFields,
} from "./rule-fields.ts";
import { type UsersAtRisk, weightMatchedWith } from "./users-at-risk.ts";
import { type WeightedPacket, weightOf } from "./weighted-packet.ts";

/** A rule with the attack packets that it matches, and the share of the users'. */
export interface Found {
  readonly rule: Rule;
  readonly packets: readonly WeightedPacket[];
  /** Weight of the packets. */
  readonly weight: number;
  readonly users: number;
}

/** One that is narrowed. It is narrowed in several ways, some of which begin alike: what was counted serves them all. */
export class GrowingRule implements Found {
  readonly rule: Rule;
  readonly packets: readonly WeightedPacket[];
  readonly weight: number;
  readonly users: number;
  /** Those who match but for the length. */
  readonly #near: UsersAtRisk;
  #matching: readonly WeightedPacket[] | null = null;
  #steady: SteadyFields | null = null;
  readonly #next = new Map<Narrowing, GrowingRule>();

  constructor({ rule, packets, weight, users }: Found, near: UsersAtRisk) {
    this.rule = rule;
    this.packets = packets;
    this.weight = weight;
    this.users = users;
    this.#near = near;
  }

  /** @param rule without lengths. @param attack packets that no rule matches yet. null: it has less of them than `least`. */
  static from(rule: Rule, attack: readonly WeightedPacket[], users: UsersAtRisk, least: number): GrowingRule | null {
    const packets = attack.filter(({ header }) => ruleMatches(rule, header));
    const weight = weightOf(packets);
    if (weight < least) return null;
    const near = users.near(rule);
    return new GrowingRule({ rule, packets, weight, users: near.share }, near);
  }

  narrowings(moved: ReadonlySet<NarrowField>, ranges: LengthRanges): readonly Narrowing[] {
    const by = { attack: this.packets, users: this.#matchingUsers(), moved };
    if (moved.size === 0) this.#steady ??= steadyFields(this.rule, by);
    const steady = moved.size === 0 ? this.#steady : null;
    return fieldsFor(this.rule, { ...by, ranges }, steady ?? steadyFields(this.rule, by));
  }

  /** The weight of the packets that match the narrowed rule. */
  keptBy(narrowing: Narrowing): number {
    narrowing.kept ??= weightMatchedWith(narrowing.fields, this.packets);
    return narrowing.kept;
  }

  /** The share of users who match the narrowed rule. */
  usersBy(narrowing: Narrowing): number {
    const { fields } = narrowing;
    narrowing.users ??= this.#near.matchedWith(fields, fields.packetLengths ?? this.rule.packetLengths);
    return narrowing.users;
  }

  narrowedBy(narrowing: Narrowing): GrowingRule {
    const known = this.#next.get(narrowing);
    if (known !== undefined) return known;
    const { fields } = narrowing;
    const isMatched = changeMatcher(fields);
    const packets = this.packets.filter(({ header }) => isMatched(header));
    const found = { packets, weight: this.keptBy(narrowing), users: this.usersBy(narrowing) };
    const narrowed = new GrowingRule({ rule: { ...this.rule, ...fields }, ...found }, this.#near.nearWith(fields));
    this.#next.set(narrowing, narrowed);
    return narrowed;
  }

  #matchingUsers(): readonly WeightedPacket[] {
    const { rule } = this;
    const near = this.#near.packets;
    if (rule.packetLengths.length === 0) return near;
    this.#matching ??= near.filter(({ header }) => ruleMatches(rule, header));
    return this.#matching;
  }
}

interface Growth {
  readonly canExpress: (rule: Rule) => boolean;
  /** One percent of the users matched weighs as much as this many percent of the attack missed. */
  readonly usersWeight: number;
  /** A match field must leave this much of what a rule matches of the attack. */
  readonly keptMin: number;
  /** Which ranges of lengths are tried. */
  readonly ranges: LengthRanges;
}

/** Adds the match field that gains most, while the rule matches users. */
export function grown(
  begun: GrowingRule,
  { canExpress, usersWeight, keptMin, ranges }: Growth,
  moved: ReadonlySet<NarrowField>,
): GrowingRule {
  let found = begun;
  const total = begun.weight || 1;
  for (let fields = 0; fields < FIELDS_MAX && found.users > 0; fields++) {
    const { rule, weight } = found;
    let best: Narrowing | null = null;
    let bestGain = weight / total - usersWeight * found.users + GAIN_MIN;
    for (const narrowing of found.narrowings(moved, ranges)) {
      const kept = found.keptBy(narrowing);
      // Users who match make it no better.
      if (kept < keptMin * weight || kept / total - narrowing.cost <= bestGain) continue;
      const gain = kept / total - usersWeight * found.usersBy(narrowing) - narrowing.cost;
      if (gain <= bestGain || !canExpress({ ...rule, ...narrowing.fields })) continue;
      best = narrowing;
      bestGain = gain;
    }
    if (best === null) break;
    found = found.narrowedBy(best);
  }
  return found;
}
