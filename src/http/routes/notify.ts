/** The targets of notifications, and tests of them (docs/interface.md#notify-targets). */
import type { Backend } from "../backend.ts";
import type { CommandRoute, ReadRoute, Route } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { NotifyTargetsWire, NotifyTestWire, notifyTargetToWire } from "../wire/notify-target.ts";

export function notifyRoutes(backend: Pick<Backend, "notifyTargets">): readonly Route[] {
  return [targetsRoute(backend), testRoute(backend)];
}

function targetsRoute(backend: Pick<Backend, "notifyTargets">): ReadRoute {
  return {
    name: "notify_targets",
    method: "GET",
    path: "/api/v1/notify/targets",
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "The targets of notifications: what waits, the last delivery and the last failure",
      answers: { 200: { text: "The targets, in the configuration's order.", schema: NotifyTargetsWire } },
    },
    handle: () => jsonAnswer(200, { targets: backend.notifyTargets().list().map(notifyTargetToWire) }),
  };
}

function testRoute(backend: Pick<Backend, "notifyTargets">): CommandRoute {
  return {
    name: "notify_test",
    method: "POST",
    path: "/api/v1/notify/targets/:target/test",
    access: "operator",
    unscopedOnly: true,
    body: null,
    about: {
      summary: "Send a test to one target of notifications",
      answers: { 200: { text: "The test waits for its delivery.", schema: NotifyTestWire } },
    },
    audit: { action: "notify_test", targetType: "global", target: () => "" },
    handle: ({ principal, params }) => {
      const target = params["target"] ?? "";
      if (!backend.notifyTargets().test(target, principal.operator || "an operator"))
        return { kind: "unknown_notify_target" };
      return { kind: "outcome", response: jsonAnswer(200, { target, queued: true }), result: "ok", reason: target };
    },
  };
}
