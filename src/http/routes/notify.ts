/** The targets of notifications, those that tenants set, and tests of them (docs/interface.md#notify-targets). */

import { Type } from "@sinclair/typebox";
import type { Principal } from "../../access/principal.ts";
import { oneOf } from "../../schema/schema-forms.ts";
import { TEXT_FORMS } from "../../schema/text-forms.ts";
import { parseTimestamp, Timestamp } from "../../schema/timestamp.ts";
import type { Clock } from "../../system/clock.ts";
import { EVENT_KINDS, SEVERITIES } from "../../targets/target-words.ts";
import { tenantTargetId } from "../../targets/tenant-target.ts";
import type { Backend } from "../backend.ts";
import { emptyName } from "../filters.ts";
import type { AuditRule, CommandRoute, ReadRoute, Route } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { type InvalidQuery, invalidQuery, parameter } from "../server/query.ts";
import { NotifyRouteWire, notifyRouteToWire, type RouteQuestion } from "../wire/notify-route.ts";
import {
  NotifyTargetsWire,
  NotifyTestWire,
  notifyTargetToWire,
  type OwnTargetOrder,
  OwnTargetSetWire,
  ownTargetCheck,
} from "../wire/notify-target.ts";
import { NameText } from "../wire/request-texts.ts";
import { savedToWire } from "../wire/saved.ts";

type Targets = Pick<Backend, "notifyTargets">;
const PATH = "/api/v1/notify/targets/:target";
const AUDIT: AuditRule<unknown> = { action: "notify_target", targetType: "global", target: () => "" };

export function notifyRoutes(backend: Targets, clock: Pick<Clock, "wallMs">): readonly Route[] {
  return [
    routeRoute(backend, clock),
    targetsRoute(backend),
    setRoute(backend, clock),
    removeRoute(backend),
    testRoute(backend),
  ];
}

function routeRoute(backend: Targets, clock: Pick<Clock, "wallMs">): ReadRoute {
  return {
    name: "notify_route",
    method: "GET",
    path: "/api/v1/notify/route",
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "Which targets of notifications an event would get to, and by which routes; nothing is sent",
      query: {
        event: { text: "The kind of the event.", schema: oneOf(...EVENT_KINDS), isRequired: true },
        severity: { text: "Default: the most urgent of the kind.", schema: oneOf(...SEVERITIES) },
        tenant: { text: "Of this tenant. Default: of none.", schema: NameText },
        group: { text: "Of this hostgroup. Default: of none.", schema: NameText },
        pps: { text: "Of this rate, packets/s. Default: it has none.", schema: Type.Number({ minimum: 0 }) },
        mbps: { text: "Of this rate, Mbit/s. Default: it has none.", schema: Type.Number({ minimum: 0 }) },
        at: { text: "At this time. Default: now.", schema: Timestamp },
      },
      answers: { 200: { text: "The targets, and the routes that decide.", schema: NotifyRouteWire } },
    },
    handle: ({ query }) => {
      const question = questionOf(query, clock.wallMs());
      if (question.kind === "invalid_query") return question;
      const { event } = question;
      return jsonAnswer(200, notifyRouteToWire(event.kind, backend.notifyTargets().route(event)));
    },
  };
}

function questionOf(query: URLSearchParams, nowMs: number): InvalidQuery | { kind: "question"; event: RouteQuestion } {
  const empty = emptyName(query, ["tenant", "group"]);
  if (empty !== null) return empty;
  const texts = (name: string) => parameter(query, name);
  const kind = EVENT_KINDS.find((known) => known === texts("event"));
  if (kind === undefined) return invalidQuery(`event must be one of ${EVENT_KINDS.join(", ")}`);
  const severity = SEVERITIES.find((known) => known === texts("severity")) ?? null;
  if (severity === null && texts("severity") !== null)
    return invalidQuery(`severity must be one of ${SEVERITIES.join(", ")}`);
  const rates = ["pps", "mbps"].map((name) => rateOf(texts(name)));
  if (rates.includes("wrong")) return invalidQuery("pps and mbps must be numbers, 0 or more");
  const [pps = null, mbps = null] = rates.filter((rate) => rate !== "wrong");
  const atMs = texts("at") === null ? nowMs : parseTimestamp(texts("at") ?? "");
  if (atMs === null) return invalidQuery(`at must be an RFC 3339 time (a + in it is written %2B): ${texts("at")}`);
  const event = { kind, severity, tenant: texts("tenant"), group: texts("group"), pps, mbps, atMs };
  return { kind: "question", event };
}

function rateOf(text: string | null): number | null | "wrong" {
  if (text === null) return null;
  return /^\d{1,15}(\.\d{1,6})?$/.test(text) ? Number(text) : "wrong";
}

function targetsRoute(backend: Targets): ReadRoute {
  return {
    name: "notify_targets",
    method: "GET",
    path: "/api/v1/notify/targets",
    access: "viewer",
    about: {
      summary:
        "The targets of notifications: what waits, the last delivery and the last failure; a tenant sees its own",
      answers: { 200: { text: "The targets, those of tenants last.", schema: NotifyTargetsWire } },
    },
    handle: ({ principal: { tenant } }) => {
      const all = backend.notifyTargets().list();
      const own = all
        .filter((target) => target.tenant === tenant)
        .map((target) => ({ ...target, name: target.name.slice(tenantTargetId(tenant ?? "", "").length) }));
      return jsonAnswer(200, { targets: (tenant === null ? all : own).map(notifyTargetToWire) });
    },
  };
}

function setRoute(backend: Targets, clock: Pick<Clock, "wallMs">): CommandRoute<OwnTargetOrder> {
  return {
    name: "notify_target_set",
    method: "PUT",
    path: PATH,
    access: "operator",
    body: ownTargetCheck,
    about: {
      summary: "Set a target of notifications of the caller's tenant, or replace the one of its name",
      answers: {
        200: { text: "The target is in force.", schema: OwnTargetSetWire },
        409: {
          text: "The configuration does not allow its kind or host, the tenant has too many, or the caller has none.",
        },
      },
    },
    audit: AUDIT,
    handle: async ({ principal: { tenant, operator }, params }, { chat_id: chatId, ...order }) => {
      const name = params["target"] ?? "";
      const fault = TEXT_FORMS.targetName(name);
      if (fault !== null) return { kind: "invalid_body", detail: `the name of the target ${fault}` };
      if (tenant === null) return { kind: "notify_target_refused", refusal: "not_of_tenant" };
      const about = { tenant, name, operator, setAt: clock.wallMs(), ...(chatId === undefined ? {} : { chatId }) };
      const answer = await backend.notifyTargets().own.set({ ...order, ...about });
      if (answer.kind === "refused") return { kind: "notify_target_refused", refusal: answer.refusal };
      const response = jsonAnswer(200, { target: name, ...savedToWire({ isSaved: answer.isSaved }) });
      return { kind: "outcome", response, result: "set", reason: `${answer.target.id}: ${order.kind}` };
    },
  };
}

function removeRoute(backend: Targets): CommandRoute {
  return {
    name: "notify_target_remove",
    method: "DELETE",
    path: PATH,
    access: "operator",
    body: null,
    about: {
      summary: "Remove a target of notifications that a tenant set",
      answers: {
        200: { text: "It is removed.", schema: OwnTargetSetWire },
        404: { text: "No tenant set a target of this name; those of the configuration are changed there." },
      },
    },
    audit: AUDIT,
    handle: async ({ principal, params }) => {
      const name = params["target"] ?? "";
      const removed = await backend.notifyTargets().own.remove(idOf(principal, name));
      if (removed === null) return { kind: "unknown_notify_target" };
      const response = jsonAnswer(200, { target: name, ...savedToWire({ isSaved: removed.isSaved }) });
      return { kind: "outcome", response, result: "cleared", reason: idOf(principal, name) };
    },
  };
}

function testRoute(backend: Targets): CommandRoute {
  return {
    name: "notify_test",
    method: "POST",
    path: `${PATH}/test`,
    access: "operator",
    body: null,
    about: {
      summary: "Send a test to one target of notifications; a tenant tests its own",
      answers: { 200: { text: "The test waits for its delivery.", schema: NotifyTestWire } },
    },
    audit: { ...AUDIT, action: "notify_test" },
    handle: ({ principal, params }) => {
      const target = params["target"] ?? "";
      if (!backend.notifyTargets().test(idOf(principal, target), principal)) return { kind: "unknown_notify_target" };
      return { kind: "outcome", response: jsonAnswer(200, { target, queued: true }), result: "ok", reason: target };
    },
  };
}

/** A caller without a tenant names those of tenants by their full name. */
function idOf({ tenant }: Principal, name: string): string {
  return tenant === null ? name : tenantTargetId(tenant, name);
}
