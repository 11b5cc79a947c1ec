/** Rules of the operator that are valid but may be unintended. */
import { hiddenRules } from "../../mitigation/operator/hidden-rules.ts";
import type { OperatorRule } from "../../mitigation/operator/operator-rule.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { Finding } from "../../schema/shape.ts";

/** @param networks those of rules without destinations. */
export function* hiddenRuleWarnings(rules: readonly OperatorRule[], networks: readonly Prefix[]): Generator<Finding> {
  for (const [i, { name }] of hiddenRules(rules, networks)) {
    const rule = `never matches: ${name} before it decides about all that it matches. Move it up, or remove it`;
    yield { path: ["filter_rules", i], rule };
  }
}
