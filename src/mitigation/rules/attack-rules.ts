/** The rules of a ban: those of all attacks that keep it in force, in either direction. Pure. */
import { attackTraffic } from "../../detection/attack/attack-traffic.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { ObservedAttack } from "../circumstances.ts";
import type { FoundRules } from "../measure.ts";
import { leastSeparable, NOTHING_KNOWN } from "../separability.ts";
import type { RuleAction } from "./action.ts";
import { counterRules } from "./counter-rules.ts";
import { RULES_MAX, type Rule, wideRule } from "./rule.ts";
import { distinct } from "./rule-cover.ts";
import { type Evidence, type FlowspecPolicy, type GeneratedRules, rulesFor } from "./rule-generator.ts";
import { sparingRules } from "./sparing-rules.ts";

export function attackRules(
  prefix: Prefix,
  attacks: readonly ObservedAttack[],
  flowspec: FlowspecPolicy,
  before: readonly Rule[],
): FoundRules {
  const present = before.map((rule) => ({ ...rule, action: flowspec.action }));
  const generated = attacks.map((observed) => {
    const isIncoming = observed.attack.direction === "incoming";
    // The rules of each direction name the prefix at their end.
    const own = present.filter(({ destination }) => (destination?.text === prefix.text) === isIncoming);
    const found = generatedFor(prefix, observed, flowspec, own);
    return flowspec.action.kind === "discard" ? { ...found, rules: sparingRules(found, observed, before) } : found;
  });
  const rules = distinct(generated.flatMap((each) => each.rules)).slice(0, RULES_MAX);
  // An operator ordered it.
  if (rules.length === 0)
    return { rules: wideRules(prefix, attacks, flowspec.action), matchesAll: true, separability: NOTHING_KNOWN };
  return {
    rules,
    matchesAll: generated.some(({ matchesAll }) => matchesAll),
    separability: leastSeparable(generated.map(({ separability }) => separability)),
  };
}

/** Rules made from packets, or else from the counters. */
function generatedFor(
  prefix: Prefix,
  observed: ObservedAttack,
  flowspec: FlowspecPolicy,
  present: readonly Rule[],
): GeneratedRules {
  if (observed.packets.length > 0)
    return rulesFor({ ...evidenceOf(prefix, observed), services: flowspec.services ?? null }, flowspec, present);
  return counterRules(prefix, observed.attack, flowspec.action);
}

export function evidenceOf(prefix: Prefix, { attack, packets, profile }: ObservedAttack): Evidence {
  const { direction, classification } = attack;
  const { unit, timesThreshold, perSecond } = attackTraffic(attack);
  return { prefix, direction, classification, packets, profile, unit, timesThreshold, perSecond };
}

/** All traffic to the prefix, from it, or both. */
function wideRules(prefix: Prefix, attacks: readonly ObservedAttack[], action: RuleAction): readonly Rule[] {
  const wide = wideRule(prefix, action);
  const directions = new Set(attacks.map(({ attack }) => attack.direction));
  const rules: Rule[] = directions.has("outgoing") ? [{ ...wide, destination: null, source: prefix }] : [];
  return directions.has("incoming") || directions.size === 0 ? [wide, ...rules] : rules;
}
