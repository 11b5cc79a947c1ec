/** The rules of a ban: those of all attacks that keep it in force, in either direction. Pure. */
import { attackTraffic } from "../../detection/attack/attack-traffic.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { ObservedAttack, RuleMaker } from "../plan.ts";
import { RULES_MAX, type Rule, type RuleAction, wideRule } from "./rule.ts";
import { distinct } from "./rule-cover.ts";
import { type Evidence, rulesFor } from "./rule-generator.ts";

export const attackRules: RuleMaker = (prefix, attacks, flowspec, present) => {
  const generated = attacks.map((observed) => {
    const isIncoming = observed.attack.direction === "incoming";
    // The rules of each direction name the prefix at their end.
    const own = present.filter(({ destination }) => (destination?.text === prefix.text) === isIncoming);
    return rulesFor(evidenceOf(prefix, observed), flowspec, own);
  });
  const rules = distinct(generated.flatMap((each) => each.rules));
  const inseparable = generated.every((each) => each.isSeparable) ? {} : ({ isInseparable: true } as const);
  // Nothing distinguishes the attack from the host's users.
  if (generated.length > 0 && generated.every((each) => each.rules.length === 0))
    return { ...NO_RULES, ...inseparable };
  // Without known packets, or with too many rules, the rules would leave a part of the attack unmatched.
  const isWide = rules.length === 0 || rules.length > RULES_MAX;
  if (isWide) return { rules: wideRules(prefix, attacks, flowspec.action), matchesAll: true, ...inseparable };
  return { rules, matchesAll: generated.some(({ matchesAll }) => matchesAll), ...inseparable };
};

export function evidenceOf(prefix: Prefix, { attack, packets, profile }: ObservedAttack): Evidence {
  const { direction, classification } = attack;
  const { unit, timesThreshold } = attackTraffic(attack);
  return { prefix, direction, classification, packets, profile, unit, timesThreshold };
}

const NO_RULES = { rules: [], matchesAll: false } as const;

/** All traffic to the prefix, from it, or both. */
function wideRules(prefix: Prefix, attacks: readonly ObservedAttack[], action: RuleAction): readonly Rule[] {
  const wide = wideRule(prefix, action);
  const directions = new Set(attacks.map(({ attack }) => attack.direction));
  const rules: Rule[] = directions.has("outgoing") ? [{ ...wide, destination: null, source: prefix }] : [];
  return directions.has("incoming") || directions.size === 0 ? [wide, ...rules] : rules;
}
