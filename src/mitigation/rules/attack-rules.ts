/** The rules of a ban: those of all attacks that keep it in force, in either direction. Pure. */
import { attackTraffic } from "../../detection/attack/attack-traffic.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { ObservedAttack, RuleMaker } from "../circumstances.ts";
import { leastSeparable, NOTHING_KNOWN, SEPARABLE_USERS_MAX, type Separability } from "../separability.ts";
import { counterRules } from "./counter-rules.ts";
import { limitedRules } from "./limited-rules.ts";
import { RULES_MAX, type Rule, type RuleAction, wideRule } from "./rule.ts";
import { distinct } from "./rule-cover.ts";
import { type Evidence, type FlowspecPolicy, type GeneratedRules, rulesFor } from "./rule-generator.ts";

export const attackRules: RuleMaker = (prefix, attacks, flowspec, before) => {
  const present = before.map((rule) => ({ ...rule, action: flowspec.action }));
  const generated = attacks.map((observed) => {
    const isIncoming = observed.attack.direction === "incoming";
    // The rules of each direction name the prefix at their end.
    const own = present.filter(({ destination }) => (destination?.text === prefix.text) === isIncoming);
    const found = generatedFor(prefix, observed, flowspec, own);
    return isMild(found.separability, flowspec)
      ? { ...found, rules: limitedRules(found, observed, before) }
      : found;
  });
  const rules = distinct(generated.flatMap((each) => each.rules));
  // An operator ordered it, or rules of several attacks are too many: all traffic.
  if (rules.length === 0 || rules.length > RULES_MAX)
    return { rules: wideRules(prefix, attacks, flowspec.action), matchesAll: true, separability: NOTHING_KNOWN };
  return {
    rules,
    matchesAll: generated.some(({ matchesAll }) => matchesAll),
    separability: leastSeparable(generated.map(({ separability }) => separability)),
  };
};

/** Of packets, or else of what the counters know. */
function generatedFor(
  prefix: Prefix,
  observed: ObservedAttack,
  flowspec: FlowspecPolicy,
  present: readonly Rule[],
): GeneratedRules {
  if (observed.packets.length > 0) return rulesFor(evidenceOf(prefix, observed), flowspec, present);
  return counterRules(prefix, observed.attack, flowspec.action);
}

/** Whether rules limit in place of `discard`, since users would be dropped, too. */
function isMild({ verdict, usersAtRisk }: Separability, { action }: FlowspecPolicy): boolean {
  return action.kind === "discard" && verdict !== "yes" && (usersAtRisk ?? 1) > SEPARABLE_USERS_MAX;
}

export function evidenceOf(prefix: Prefix, { attack, packets, profile }: ObservedAttack): Evidence {
  const { direction, classification } = attack;
  const { unit, timesThreshold } = attackTraffic(attack);
  return { prefix, direction, classification, packets, profile, unit, timesThreshold };
}

/** All traffic to the prefix, from it, or both. */
function wideRules(prefix: Prefix, attacks: readonly ObservedAttack[], action: RuleAction): readonly Rule[] {
  const wide = wideRule(prefix, action);
  const directions = new Set(attacks.map(({ attack }) => attack.direction));
  const rules: Rule[] = directions.has("outgoing") ? [{ ...wide, destination: null, source: prefix }] : [];
  return directions.has("incoming") || directions.size === 0 ? [wide, ...rules] : rules;
}
