/** Rules of the operator that are valid but may be unintended. */
import { hiddenRules } from "../../mitigation/operator/hidden-rules.ts";
import type { Config } from "../config.ts";
import type { Finding } from "../load/shape.ts";

export function* filterRuleWarnings({ filterRules, networks }: Config): Generator<Finding> {
  for (const [i, { name }] of hiddenRules(filterRules, networks)) {
    const rule = `never matches: ${name} before it decides about all that it matches. Move it up, or remove it`;
    yield { path: ["filter_rules", i], rule };
  }
}
