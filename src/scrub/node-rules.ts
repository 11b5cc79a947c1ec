/**
 * The rules of a diverted ban for scrub nodes that do not support all of its match fields: found again within those that
 * they support (docs/interface.md#rule-document-flowspec). Pure, except that it bounds how many it finds at once.
 */
import { NODE_RULES_FOUND_MAX } from "../limits.ts";
import type { NodeRulesRequest } from "../mitigation/circumstances.ts";
import type { NodeRules } from "../mitigation/measure.ts";
import { isSameAction, type RuleAction } from "../mitigation/rules/action.ts";
import { type Rule, rulesText } from "../mitigation/rules/rule.ts";
import { simplerRules } from "../mitigation/rules/simpler-rules.ts";
import { canExpress, formsOf, type RuleSupport, ruleSupportKey, rulesTowardsVictim } from "./rule-forms.ts";

export class NodeRuleFinder {
  #found = 0;

  /** Time passed: as many again may be found for bans of which nothing else changed. */
  tick(): void {
    this.#found = 0;
  }

  /** @param supports without duplicates. Returns `present` itself if nothing changes. */
  rulesFor(supports: readonly RuleSupport[], request: NodeRulesRequest): readonly NodeRules[] {
    const { present, rules } = request;
    const made = supports
      .filter((support) => !holdsAll(rules, support))
      .map((support) => this.#rulesFor(support, request))
      .filter((each) => each !== null);
    const isSame = made.length === present.length && made.every((each, i) => each === present[i]);
    return isSame ? present : made;
  }

  /** null: the attack's packets are not known. */
  #rulesFor(support: RuleSupport, request: NodeRulesRequest): NodeRules | null {
    const { prefix, flowspec, isOutdated, observed } = request;
    const precise = rulesTowardsVictim(request.rules);
    const key = ruleSupportKey(support);
    const known = request.present.find((each) => each.support === key) ?? null;
    if (!isOutdated && (known !== null || this.#found >= NODE_RULES_FOUND_MAX)) return known;
    const before = known === null ? null : withAction(known, flowspec.action);
    const attacks = observed();
    if (attacks.length === 0) return before;
    if (!isOutdated) this.#found++;
    const found = simplerRules({
      prefix,
      attacks,
      flowspec,
      precise,
      present: before?.rules ?? [],
      canExpress: (rule) => canExpress(rule, support),
    });
    if (found === null) return before ?? { support: key, ...expressible(precise, support) };
    const isSame = before?.leftOut === found.leftOut && rulesText(before.rules) === rulesText(found.rules);
    return isSame ? before : { support: key, ...found };
  }
}

/** Cached by list: it is read for each diverted ban in each tick. */
const HELD = new WeakMap<readonly Rule[], Map<string, boolean>>();

/** Whether nodes with this support can apply all of the rules. */
export function holdsAll(rules: readonly Rule[], support: RuleSupport): boolean {
  const key = ruleSupportKey(support);
  let bySupport = HELD.get(rules);
  if (bySupport === undefined) {
    bySupport = new Map();
    HELD.set(rules, bySupport);
  }
  let isHeld = bySupport.get(key);
  if (isHeld === undefined) {
    isHeld = formsOf(rulesTowardsVictim(rules), support).leftOut === 0;
    bySupport.set(key, isHeld);
  }
  return isHeld;
}

function expressible(precise: readonly Rule[], support: RuleSupport): Omit<NodeRules, "support"> {
  const rules = precise.filter((rule) => canExpress(rule, support));
  return { rules, leftOut: precise.length - rules.length };
}

function withAction(known: NodeRules, action: RuleAction): NodeRules {
  if (known.rules.every((rule) => isSameAction(rule.action, action))) return known;
  return { ...known, rules: known.rules.map((rule) => ({ ...rule, action })) };
}
