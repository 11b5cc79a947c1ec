/** The rules of a ban: those of all attacks that keep it in force, in either direction. Pure. */
import { attackTraffic } from "../../detection/attack/attack-traffic.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { ObservedAttack, RuleMaker } from "../plan.ts";
import { RULES_MAX, type Rule, type RuleAction, wideRule } from "./rule.ts";
import { rulesFor } from "./rule-generator.ts";

export const attackRules: RuleMaker = (prefix, attacks, flowspec) => {
  const generated = attacks.map(({ attack, packets }) => {
    const { direction, classification } = attack;
    const { unit, timesThreshold } = attackTraffic(attack);
    return rulesFor({ prefix, direction, classification, packets, unit, timesThreshold }, flowspec);
  });
  const rules = generated.flatMap((each) => each.rules);
  // Without known packets, or with too many rules, the rules would leave a part of the attack unmatched.
  const isWide = rules.length === 0 || rules.length > RULES_MAX;
  if (isWide) return { rules: wideRules(prefix, attacks, flowspec.action), matchesAll: true };
  return { rules, matchesAll: generated.some(({ matchesAll }) => matchesAll) };
};

/** All traffic to the prefix, from it, or both. */
function wideRules(prefix: Prefix, attacks: readonly ObservedAttack[], action: RuleAction): readonly Rule[] {
  const wide = wideRule(prefix, action);
  const directions = new Set(attacks.map(({ attack }) => attack.direction));
  const rules: Rule[] = directions.has("outgoing") ? [{ ...wide, destination: null, source: prefix }] : [];
  return directions.has("incoming") || directions.size === 0 ? [wide, ...rules] : rules;
}
