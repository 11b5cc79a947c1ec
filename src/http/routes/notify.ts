/** The targets of notifications, those that tenants set, and tests of them (docs/interface.md#notify-targets). */
import type { Principal } from "../../access/principal.ts";
import { TEXT_FORMS } from "../../schema/text-forms.ts";
import type { Clock } from "../../system/clock.ts";
import { tenantTargetId } from "../../targets/tenant-target.ts";
import type { Backend } from "../backend.ts";
import type { AuditRule, CommandRoute, ReadRoute, Route } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import {
  NotifyTargetsWire,
  NotifyTestWire,
  notifyTargetToWire,
  type OwnTargetOrder,
  OwnTargetSetWire,
  ownTargetCheck,
} from "../wire/notify-target.ts";
import { savedToWire } from "../wire/saved.ts";

type Targets = Pick<Backend, "notifyTargets">;
const PATH = "/api/v1/notify/targets/:target";
const AUDIT: AuditRule<unknown> = { action: "notify_target", targetType: "global", target: () => "" };

export function notifyRoutes(backend: Targets, clock: Pick<Clock, "wallMs">): readonly Route[] {
  return [targetsRoute(backend), setRoute(backend, clock), removeRoute(backend), testRoute(backend)];
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
