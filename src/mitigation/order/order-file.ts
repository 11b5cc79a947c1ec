/** How an operator writes what a ban by hand does: in `order_templates`, and in a command to the API. */
import { type Static, Type } from "@sinclair/typebox";
import { BAN_REASON_MAX, BAN_SECONDS_MAX, COMMUNITIES_MAX } from "../../limits.ts";
import { parseAddress } from "../../net/address.ts";
import { type Community, parseCommunity } from "../../net/community.ts";
import { closedObject, described, integer, oneOf, text } from "../../schema/schema-forms.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { buildFilterRule, FilterRuleFile } from "../operator/rule-file.ts";
import { filterRuleFindings } from "../operator/rule-findings.ts";
import { matchText } from "../rules/match.ts";
import { RULES_MAX } from "../rules/rule.ts";
import type { BanOrder, OrderedTerms } from "./ban-order.ts";

const ORDER_NEIGHBORS_MAX = 64;
const { source, protocol, ports, source_ports, tcp_flags, fragment, packet_lengths } = FilterRuleFile.properties;

/** The keys of `filter_rules` that FlowSpec has, too. */
const OrderRuleFile = closedObject({ source, protocol, ports, source_ports, tcp_flags, fragment, packet_lengths });

export const ORDER_KEYS = {
  method: described(
    Type.Optional(oneOf("blackhole", "flowspec", "divert", "scrub")),
    "What the ban does, in place of what the hostgroup says: no ladder and no fallback follows.",
    { ifAbsent: "`flowspec` with rules or a rate, otherwise as the hostgroup says" },
  ),
  rules: described(
    Type.Optional(Type.Array(OrderRuleFile, { minItems: 1, maxItems: RULES_MAX })),
    "The traffic to the prefix that is dropped, limited, or scrubbed. All that a rule has must match.",
    { ifAbsent: "as found from an attack, without one all traffic" },
  ),
  rate_mbps: described(
    Type.Optional(Type.Number({ minimum: 0, maximum: 1e9 })),
    "The megabits per second that may pass each rule; 0 lets nothing pass.",
    { ifAbsent: "as the hostgroup says" },
  ),
  ttl_seconds: described(Type.Optional(integer(1, BAN_SECONDS_MAX)), "How long the ban lasts, from the order on.", {
    ifAbsent: "as the hostgroup says",
  }),
  communities: described(
    Type.Optional(Type.Array(text("community"), { maxItems: COMMUNITIES_MAX })),
    "The communities of its routes, in place of those of the configuration.",
    { ifAbsent: "those of the configuration" },
  ),
  neighbors: described(
    Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: ORDER_NEIGHBORS_MAX })),
    "Addresses or names of `bgp.neighbors` that get its routes; the others get none.",
    { ifAbsent: "all of them" },
  ),
  reason: described(Type.Optional(Type.String({ maxLength: BAN_REASON_MAX })), "Why, in words for people."),
  dry_run: described(Type.Optional(Type.Boolean()), "Whether the ban is only recorded.", { ifAbsent: "false" }),
};

export const OrderFile = closedObject(ORDER_KEYS);
export type OrderFile = Static<typeof OrderFile>;

/** Its faults, beside its shape. Paths begin at its keys. */
export function* orderFindings(order: Pruned<OrderFile>): Generator<Finding> {
  const { method, rules = [], rate_mbps: rate } = order;
  const isRuled = rules.length > 0 || rate !== undefined;
  if (rate !== undefined && method !== undefined && method !== "flowspec") {
    yield { path: ["rate_mbps"], rule: `goes with method flowspec, not ${method}` };
  }
  if (method === "blackhole" && rules.length > 0) {
    yield { path: ["rules"], rule: "go with method flowspec, divert or scrub: a blackhole takes all traffic" };
  }
  for (const key of ["communities", "neighbors"] as const) {
    if (method === "scrub" && order[key] !== undefined) {
      yield { path: [key], rule: "goes with routes, and method scrub announces none" };
    }
    if (method === undefined && !isRuled && order[key] !== undefined) {
      yield { path: [key], rule: "goes with a method: say which" };
    }
  }
  for (const [i, rule] of rules.entries()) yield* ruleFindings(rule ?? {}, ["rules", i]);
}

function* ruleFindings(
  rule: Pruned<Static<typeof OrderRuleFile>>,
  path: readonly (string | number)[],
): Generator<Finding> {
  for (const finding of filterRuleFindings(rule, undefined)) {
    yield { ...finding, path: [...path, ...finding.path] };
  }
  if ((rule.packet_lengths ?? []).length > 1) {
    yield {
      path: [...path, "packet_lengths"],
      rule: "FlowSpec has one range of lengths in a rule: write several rules",
    };
  }
  const isEmpty = Object.values(rule).every(
    (value) => value === undefined || (Array.isArray(value) && value.length === 0),
  );
  if (isEmpty) yield { path, rule: "matches all traffic: say what it matches, or leave out rules" };
}

/** Without findings. */
type WrittenOrder = Omit<BanOrder, "prefix">;

export function buildOrder(file: OrderFile): WrittenOrder {
  const {
    rules,
    rate_mbps: rate,
    ttl_seconds: ttlSeconds,
    communities,
    neighbors,
    reason = "",
    dry_run: isDryRun,
  } = file;
  const method = file.method ?? (rules !== undefined || rate !== undefined ? "flowspec" : undefined);
  const terms: OrderedTerms = {
    ...(method !== undefined && { method }),
    ...(rules !== undefined && { rules: matchesOf(rules) }),
    // A megabit is 10^6 bits, as in all rates.
    ...(rate !== undefined && { bytesPerSecond: (rate * 1e6) / 8 }),
    ...(communities !== undefined && {
      communities: communities.map(parseCommunity).filter((one): one is Community => one !== null),
    }),
    ...(neighbors !== undefined && { neighbors: neighbors.map(neighborText) }),
  };
  return { terms, ttlSeconds: ttlSeconds ?? null, reason: reason.toWellFormed(), isDryRun: isDryRun === true };
}

/** A name, or an address in the form that neighbors have. */
export function neighborText(text: string): string {
  return parseAddress(text) ?? text;
}

/** Each once: a speaker keeps one of equal rules. */
function matchesOf(rules: NonNullable<OrderFile["rules"]>) {
  const matches = rules.map((rule) => buildFilterRule({ ...NO_RULE, ...rule }).match);
  return [...new Map(matches.map((match) => [matchText(match), match])).values()];
}

const NO_RULE: FilterRuleFile = {
  name: "order",
  action: "drop",
  destinations: [],
  source_sets: [],
  not_source_sets: [],
  ports: [],
  source_ports: [],
  packet_lengths: [],
  dscp: [],
  payload: [],
  dry_run: false,
};
