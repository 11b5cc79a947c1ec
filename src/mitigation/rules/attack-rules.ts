/** The rules of a ban: those of each attack that holds it, in either direction. Pure. */
import { attackTraffic } from "../../detection/attack/attack-traffic.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { RuleMaker, SeenAttack } from "../plan.ts";
import { RULES_MAX, type Rule, type RuleAction, wideRule } from "./rule.ts";
import { rulesFor } from "./rule-generator.ts";

export const attackRules: RuleMaker = (prefix, attacks, flowspec) => {
  const generated = attacks.map(({ attack, packets }) => {
    const { direction, classification } = attack;
    const { unit, timesThreshold } = attackTraffic(attack);
    return rulesFor({ prefix, direction, classification, packets, unit, timesThreshold }, flowspec);
  });
  const rules = generated.flatMap((each) => each.rules);
  // Nothing is known of the traffic; or there are so many rules that some would have to go, and their part of the attack stay.
  const isWide = rules.length === 0 || rules.length > RULES_MAX;
  if (isWide) return { rules: wideRules(prefix, attacks, flowspec.action), matchesAll: true };
  return { rules, matchesAll: generated.some(({ matchesAll }) => matchesAll) };
};

/** All that goes to the prefix, comes from it, or both. */
function wideRules(prefix: Prefix, attacks: readonly SeenAttack[], action: RuleAction): readonly Rule[] {
  const wide = wideRule(prefix, action);
  const directions = new Set(attacks.map(({ attack }) => attack.direction));
  const rules: Rule[] = directions.has("outgoing") ? [{ ...wide, destination: null, source: prefix }] : [];
  return directions.has("incoming") || directions.size === 0 ? [wide, ...rules] : rules;
}
