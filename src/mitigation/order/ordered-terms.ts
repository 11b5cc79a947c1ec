/** The terms of a hostgroup with those of an order in their place. Pure. */
import type { Prefix } from "../../net/prefix.ts";
import type { BanTerms } from "../circumstances.ts";
import { actionText, type RuleAction } from "../rules/action.ts";
import type { Match } from "../rules/match.ts";
import type { Rule } from "../rules/rule.ts";
import type { OrderedTerms } from "./ban-order.ts";

interface OrderedIn {
  readonly ordered: OrderedTerms;
  /** The prefix is a single address. */
  readonly isOne: boolean;
}

/** The terms of a hostgroup with those of an order in their place. */
export function orderedTerms(terms: BanTerms, { ordered, isOne }: OrderedIn): BanTerms {
  const { method = isOne ? null : terms.method, communities, neighbors, bytesPerSecond, rules } = ordered;
  const withCommunities = (route: BanTerms["blackhole"]) =>
    route === null || communities === undefined ? route : { ...route, communities };
  return {
    ...terms,
    // The operator chose the method: nothing takes its place.
    ...(method !== null && {
      ...{ method, ladder: [{ afterSeconds: 0, action: method }], hasEscalation: false },
      ban: { ...terms.ban, fallback: "none" as const },
    }),
    flowspec: bytesPerSecond === undefined ? terms.flowspec : limited(terms.flowspec, bytesPerSecond),
    blackhole: withCommunities(terms.blackhole),
    divert: withCommunities(terms.divert),
    ordered: {
      rules: rules ?? [],
      communities: communities ?? null,
      neighbors: neighbors ?? null,
    },
  };
}

/** Cached by the order's matches, since callers compare rules by identity. */
const RULES = new WeakMap<readonly Match[], Map<string, readonly Rule[]>>();

/** The rules of the order for its prefix. */
export function orderedRules(matches: readonly Match[], prefix: Prefix, action: RuleAction): readonly Rule[] {
  const made = RULES.get(matches) ?? new Map<string, readonly Rule[]>();
  RULES.set(matches, made);
  const key = `${prefix.text} ${actionText(action)}`;
  const rules = made.get(key) ?? matches.map((match) => ({ ...match, destination: prefix, action }));
  made.set(key, rules);
  return rules;
}

/** The rate of an order is in place of what routers do otherwise. */
function limited(flowspec: BanTerms["flowspec"], bytesPerSecond: number): BanTerms["flowspec"] {
  const { routers: _, ...others } = flowspec;
  return { ...others, action: actionOf(bytesPerSecond) };
}

function actionOf(bytesPerSecond: number): RuleAction {
  return bytesPerSecond < 1 ? { kind: "discard" } : { kind: "rate_limit", bytesPerSecond };
}
