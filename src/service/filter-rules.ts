/** The operator's rules as the service runs them: logs and counts their changes. */
import type { Config } from "../config/config.ts";
import {
  FilterRules,
  type FilterRulesObserver,
  type FilterRulesOptions,
  type FilterRulesPolicy,
  RULE_ORDER_REFUSALS,
} from "../mitigation/operator/filter-rules.ts";
import { readFilterRule } from "../mitigation/operator/rule-file.ts";
import type { FilterRuleMetrics } from "../observability/filter-rule-metrics.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { StateStore } from "../storage/state-store.ts";
import { faultingTable } from "./faults.ts";
import { noticed, type OnOrders, ruleSubject } from "./order-changes.ts";

interface FilterRulesParts extends Pick<FilterRulesOptions, "onChange"> {
  readonly config: Config;
  readonly state: StateStore;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly onEnded: FilterRulesObserver["ended"];
  readonly onOrders: OnOrders;
}

export function openFilterRules(parts: FilterRulesParts): FilterRules {
  const { config, state, log, metrics, onChange, onEnded, onOrders } = parts;
  metrics.filterRules.declare(RULE_ORDER_REFUSALS);
  const store = faultingTable(state.table("filter_rules"));
  const terms = {
    policy: filterRulesPolicy(config),
    read: readFilterRule,
    observer: noticed(observerOf(log, metrics.filterRules, onEnded), ruleSubject, onOrders),
  };
  return new FilterRules({ ...terms, store, onChange }, state.stored.filter_rules);
}

export function filterRulesPolicy({ filterRules, networks, dataplane, prefixSets }: Config): FilterRulesPolicy {
  const sets = prefixSets.map(({ name }) => name);
  return { configured: filterRules, networks, hasDataplane: dataplane?.enabled === true, sets };
}

function observerOf(log: Log, metrics: FilterRuleMetrics, onEnded: FilterRulesObserver["ended"]): FilterRulesObserver {
  return {
    began: ({ name, rule, expiresAt }) => log.info({ name, rule, expires_at: expiresAt }, "filter rule ordered"),
    refused(refusal) {
      metrics.refused(refusal);
      log.info({ reason: refusal }, "filter rule refused");
    },
    ended(end, orders) {
      for (const { name } of orders) log.info({ name, reason: end }, "filter rule ended");
      onEnded(end, orders);
    },
    unusable: ({ name }) =>
      log.warn(
        { name },
        "an ordered filter rule is not in force: its destinations or prefix sets are no longer configured",
      ),
  };
}
