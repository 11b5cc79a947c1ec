/** The operator's rules for the data plane: reads them with what they matched, adds and removes those of orders. */
import type { FilterRuleView, RuleOrder } from "../../mitigation/operator/filter-rules.ts";
import { orderedRuleText } from "../../mitigation/operator/operator-rule.ts";
import type { Clock } from "../../system/clock.ts";
import type { Backend } from "../backend.ts";
import { type Filters, filterOf, isFault, named, within, word } from "../filters.ts";
import { type CommandRoute, namedAudit, type ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import {
  type FilterRuleRequest,
  FilterRulesWire,
  FilterRuleWire,
  filterRuleCheck,
  filterRuleToWire,
} from "../wire/filter-rule.ts";
import { FilterRulePreviewWire, filterRulePreviewToWire } from "../wire/order-effect.ts";
import { commanderOf, endedText, ORDER_END, type OrderEndReason } from "../wire/order-end-reason.ts";

const PATH = "/api/v1/filter-rules";
const AUDIT = { action: "filter_rule", targetType: "rule" } as const;

const FILTERS: Filters<FilterRuleView> = {
  name: named("Only the rule of this name.", ({ rule }) => rule.name),
  action: word("Only with this action.", ["drop", "pass", "limit"], ({ rule }) => rule.action),
  origin: word("Only of the configuration, or only ordered ones.", ["configuration", "order"], ({ order }) =>
    order === null ? "configuration" : "order",
  ),
  target: within("Only with a destination at this address, or inside this prefix.", ({ rule }) =>
    rule.destinations.map(({ text }) => text),
  ),
};

export function filterRulesRoute(backend: Backend): ReadRoute {
  return {
    name: "filter_rules",
    method: "GET",
    path: PATH,
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "The operator's rules for this machine's data plane, in the order in which they are tried",
      query: FILTERS,
      answers: { 200: { text: "The rules, with what they matched.", schema: FilterRulesWire } },
    },
    handle: ({ query }) => {
      const isWanted = filterOf(FILTERS, query);
      if (isFault(isWanted)) return isWanted;
      const counts = backend.filterRuleCounts();
      const rules = backend.filterRules
        .views()
        .filter(isWanted)
        .map((view) => {
          const matched = counts?.get(view.rule.name) ?? null;
          return filterRuleToWire(view, matched);
        });
      return jsonAnswer(200, { rules });
    },
  };
}

export function orderFilterRuleRoute(backend: Backend, clock: Pick<Clock, "wallMs">): CommandRoute<FilterRuleRequest> {
  return {
    name: "filter_rule",
    method: "POST",
    path: PATH,
    access: "operator",
    unscopedOnly: true,
    body: filterRuleCheck,
    about: {
      summary: "Add a rule before all others for a time, or replace the one ordered under its name",
      answers: {
        200: { text: "The rule.", schema: FilterRuleWire },
        409: { text: "There is no data plane, or the name, the destinations or the number of rules forbid it." },
      },
    },
    audit: namedAudit(AUDIT, (_, fields) => fields?.rule.name ?? ""),
    handle: async (call, request) => {
      const { rule } = request;
      const answer = await backend.orderFilterRule(orderOf(request, clock.wallMs()), rule, commanderOf(call, {}));
      if (answer.kind === "refused") return { kind: "filter_rule_refused", refusal: answer.refusal };
      const settled = await backend.settled(answer.isSaved, "filter_rules", rule.name);
      const response = jsonAnswer(200, filterRuleToWire(answer.view, null, settled));
      return { kind: "outcome", response, result: "set", reason: orderedText(request) };
    },
  };
}

export function filterRulePreviewRoute(
  backend: Backend,
  clock: Pick<Clock, "wallMs">,
): CommandRoute<FilterRuleRequest> {
  return {
    name: "filter_rule_preview",
    method: "POST",
    path: `${PATH}/preview`,
    access: "operator",
    unscopedOnly: true,
    body: filterRuleCheck,
    about: {
      summary: "What an order would do to the traffic of the last minute; nothing is done",
      answers: {
        200: { text: "The rule, whether it would be refused, and its effect.", schema: FilterRulePreviewWire },
      },
    },
    handle: (_, request) => {
      const order = orderOf(request, clock.wallMs());
      return jsonAnswer(200, filterRulePreviewToWire(backend.filterRulePreview(order, request.rule)));
    },
  };
}

function orderOf({ rule, file, ttlSeconds, reason }: FilterRuleRequest, createdAt: number): RuleOrder {
  return { name: rule.name, rule: file, createdAt, expiresAt: createdAt + ttlSeconds * 1000, reason };
}

export function removeFilterRuleRoute(backend: Backend): CommandRoute<OrderEndReason> {
  return {
    name: "filter_rule_remove",
    ...ORDER_END,
    path: `${PATH}/:name`,
    access: "operator",
    unscopedOnly: true,
    about: {
      summary: "Remove a rule that was ordered",
      answers: {
        200: { text: "The rule that was removed.", schema: FilterRuleWire },
        404: { text: "No rule of this name was ordered. Those of the configuration are removed there." },
      },
    },
    audit: namedAudit(AUDIT),
    handle: async (call, end) => {
      const name = call.params["name"] ?? "";
      const view = backend.filterRules.views().find(({ order }) => order?.name === name);
      const isSaved = await backend.filterRules.remove(name, commanderOf(call, end));
      if (isSaved === null) return { kind: "unknown_filter_rule" };
      const settled = await backend.settled(isSaved, "filter_rules", name);
      const response = view === undefined ? {} : filterRuleToWire(view, null, settled);
      const reason = endedText(view === undefined ? "" : orderedRuleText(view.rule), end);
      return { kind: "outcome", response: jsonAnswer(200, response), result: "cleared", reason };
    },
  };
}

/** `drop proto udp src-port 19 for 3600 s: ticket 7`. */
function orderedText({ rule, ttlSeconds, reason }: FilterRuleRequest): string {
  return `${orderedRuleText(rule)} for ${ttlSeconds} s${reason === "" ? "" : `: ${reason}`}`;
}
