/** The audit trail, newest first (docs/interface.md#audit-reading). */

import { Value } from "@sinclair/typebox/value";
import { AUDIT_RESULTS, type AuditFilters } from "../../audit/audit-event.ts";
import { oneOf } from "../../schema/schema-forms.ts";
import type { Clock } from "../../system/clock.ts";
import type { Backend } from "../backend.ts";
import { emptyName, isRefusal, targetOf } from "../filters.ts";
import type { Refusal } from "../refusal.ts";
import type { ReadRoute } from "../route.ts";
import { RANGE_PARAMETERS } from "../route-description.ts";
import { jsonAnswer } from "../server/answer.ts";
import { type InvalidQuery, invalidQuery, parameter } from "../server/query.ts";
import { timeRange } from "../time-range.ts";
import { AuditActionWire, AuditWire, auditEventToWire } from "../wire/audit.ts";
import { NameText, TargetText } from "../wire/request-texts.ts";

export function auditRoute(backend: Pick<Backend, "auditEvents">, clock: Pick<Clock, "wallMs">): ReadRoute {
  return {
    name: "audit",
    method: "GET",
    path: "/api/v1/audit",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "The audit trail, newest first; a token with a tenant reads the rows of its own callers",
      query: {
        ...RANGE_PARAMETERS,
        action: { text: "Only this action.", schema: AuditActionWire },
        result: { text: "Only with this result.", schema: oneOf(...AUDIT_RESULTS) },
        operator: { text: "Only of this token.", schema: NameText },
        tenant: { text: "Only of tokens of this tenant.", schema: NameText },
        target: {
          text: "Only this address, or those inside this prefix, also as source or victim of a block.",
          schema: TargetText,
        },
      },
      answers: {
        200: { text: "The rows; with storage off there are none, and available is false.", schema: AuditWire },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal, query }) => {
      const range = timeRange(query, clock.wallMs());
      if (range.kind !== "range") return range;
      const filters = filtersOf(query);
      if (filters.kind !== "filters") return filters;
      const answer = await backend.auditEvents({ range, filters, tenant: principal.tenant }, principal.tenant);
      if (!answer.available) return jsonAnswer(200, { available: false, events: [] });
      return jsonAnswer(200, { available: true, events: answer.events.map(auditEventToWire) });
    },
  };
}

type Filters = AuditFilters & { readonly kind: "filters" };

function filtersOf(query: URLSearchParams): Filters | InvalidQuery | Refusal {
  const action = parameter(query, "action");
  if (action !== null && !Value.Check(AuditActionWire, action)) return invalidQuery(`unknown action: ${action}`);
  const resultText = parameter(query, "result");
  const result = AUDIT_RESULTS.find((known) => known === resultText) ?? null;
  if (resultText !== null && result === null) return invalidQuery(`unknown result: ${resultText}`);
  const empty = emptyName(query, ["operator", "tenant"]);
  if (empty !== null) return empty;
  const target = targetOf(query);
  if (isRefusal(target)) return target;
  return {
    kind: "filters",
    action,
    result,
    operator: parameter(query, "operator"),
    tenant: parameter(query, "tenant"),
    target,
  };
}
