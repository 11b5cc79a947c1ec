/** Thresholds, method and never-banned addresses of a hostgroup, set over the configuration (docs/interface.md#hostgroup-settings). */

import { hostPrefix } from "../../net/prefix.ts";
import { parseTarget } from "../../net/target.ts";
import type { Backend } from "../backend.ts";
import type { Refusal } from "../refusal.ts";
import type { SettingsOutcome } from "../reload-views.ts";
import { type Call, type CommandRoute, namedAudit, type Outcome } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { SettingsAnswerWire, type SettingsOrder, settingsCheck } from "../wire/group-settings.ts";
import { endedText, ORDER_END, type OrderEndReason } from "../wire/order-end-reason.ts";

type Groups = Pick<Backend, "setGroup" | "tenancy">;

const PATH = "/api/v1/hostgroups/:name/settings";
const AUDIT = { action: "hostgroup_settings", targetType: "hostgroup" } as const;

export function groupSettingsRoutes(
  backend: Groups,
): readonly [CommandRoute<SettingsOrder>, CommandRoute<OrderEndReason>] {
  return [setGroupRoute(backend), resetGroupRoute(backend)];
}

function setGroupRoute(backend: Groups): CommandRoute<SettingsOrder> {
  return {
    name: "hostgroup_settings",
    method: "PUT",
    path: PATH,
    access: "operator",
    unscopedOnly: true,
    checkPath: (call) => unknownGroup(backend, call),
    body: settingsCheck,
    about: {
      summary: "Set thresholds, method or never-banned addresses of a hostgroup over the configuration",
      answers: {
        200: { text: "What is set now, and what that changed.", schema: SettingsAnswerWire },
        404: { text: "There is no such hostgroup." },
      },
    },
    audit: namedAudit(AUDIT),
    handle: async (call, { settings, reason }) => {
      const foreign = (settings.protected_whitelist ?? []).find((text) => !isOf(backend, call, text));
      if (foreign !== undefined) {
        return { kind: "invalid_body", detail: `protected_whitelist: ${foreign} is not inside the hostgroup` };
      }
      const { params, principal } = call;
      return outcomeOf(call, await backend.setGroup(params["name"] ?? "", settings, principal), "set", { reason });
    },
  };
}

function resetGroupRoute(backend: Groups): CommandRoute<OrderEndReason> {
  return {
    name: "hostgroup_settings_reset",
    ...ORDER_END,
    path: PATH,
    access: "operator",
    unscopedOnly: true,
    about: {
      summary: "Take back what was set for a hostgroup, also of one that is no more",
      answers: {
        200: { text: "What that changed.", schema: SettingsAnswerWire },
        404: { text: "Nothing is set for it." },
      },
    },
    audit: namedAudit(AUDIT),
    handle: async (call, end) => {
      const { params, principal } = call;
      return outcomeOf(call, await backend.setGroup(params["name"] ?? "", null, principal), "cleared", end);
    },
  };
}

function unknownGroup(backend: Groups, { params, principal }: Call): Refusal | null {
  return backend.tenancy().hasGroup(principal, params["name"] ?? "") ? null : { kind: "unknown_hostgroup" };
}

function isOf(backend: Groups, { params }: Call, text: string): boolean {
  const target = parseTarget(text);
  if (target === null) return false;
  return backend.tenancy().groupOfAll(typeof target === "string" ? hostPrefix(target) : target) === params["name"];
}

function outcomeOf(
  { params }: Call,
  outcome: SettingsOutcome,
  result: "set" | "cleared",
  given: Partial<OrderEndReason>,
): Outcome | Refusal {
  if (outcome.kind === "none") return { kind: "no_group_settings" };
  if (outcome.kind === "invalid") return { kind: "invalid_config", problems: outcome.problems };
  const { settings, changes } = outcome;
  const body: SettingsAnswerWire = {
    hostgroup: params["name"] ?? "",
    ...(settings !== null && { settings }),
    changes: [...changes],
  };
  return { kind: "outcome", response: jsonAnswer(200, body), result, reason: endedText(changes.join("; "), given) };
}
