/** The operator's rules as the service runs them: logs their changes. */
import type { Config } from "../config/config.ts";
import { readFilterRule } from "../http/wire/filter-rule.ts";
import {
  FilterRules,
  type FilterRulesObserver,
  type FilterRulesOptions,
  type FilterRulesPolicy,
  type RuleOrder,
} from "../mitigation/operator/filter-rules.ts";
import type { Log } from "../observability/log.ts";

export interface FilterRulesParts extends Pick<FilterRulesOptions, "store" | "onChange"> {
  readonly config: Config;
  readonly kept: readonly RuleOrder[];
  readonly log: Log;
}

export function openFilterRules({ config, kept, log, ...rest }: FilterRulesParts): FilterRules {
  const options = { ...rest, policy: filterRulesPolicy(config), read: readFilterRule, observer: observerOf(log) };
  return new FilterRules(options, kept);
}

export function filterRulesPolicy({ filterRules, networks, dataplane, prefixSets }: Config): FilterRulesPolicy {
  const sets = prefixSets.map(({ name }) => name);
  return { configured: filterRules, networks, hasDataplane: dataplane?.enabled === true, sets };
}

function observerOf(log: Log): FilterRulesObserver {
  return {
    ordered: ({ name, rule, expiresAt }) => log.info({ name, rule, expires_at: expiresAt }, "filter rule ordered"),
    refused: (refusal) => log.info({ reason: refusal }, "filter rule refused"),
    ended: (end, { name }) => log.info({ name, reason: end }, "filter rule ended"),
    unusable: ({ name }) =>
      log.warn(
        { name },
        "an ordered filter rule is not in force: the configuration has its destinations or its prefix sets no more",
      ),
  };
}
