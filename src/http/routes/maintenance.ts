/** Maintenance windows: reads them, opens one for a time, closes one that was ordered. */
import type { WindowOrder } from "../../mitigation/maintenance/maintenance-windows.ts";
import { windowText } from "../../mitigation/maintenance/window.ts";
import { windowOf } from "../../mitigation/maintenance/window-file.ts";
import { timestamp } from "../../schema/timestamp.ts";
import type { Clock } from "../../system/clock.ts";
import type { Backend } from "../backend.ts";
import { type CommandRoute, namedAudit, type ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import {
  MaintenancesWire,
  MaintenanceWire,
  type WindowRequest,
  windowCheck,
  windowToWire,
} from "../wire/maintenance.ts";
import { commanderOf, endedText, ORDER_END, type OrderEndReason } from "../wire/order-end-reason.ts";

const PATH = "/api/v1/maintenance";
const AUDIT = { action: "maintenance", targetType: "window" } as const;

export function maintenanceRoute(backend: Backend): ReadRoute {
  return {
    name: "maintenance",
    method: "GET",
    path: PATH,
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "Maintenance windows: those that were opened by orders, then those of the configuration",
      answers: { 200: { text: "The windows.", schema: MaintenancesWire } },
    },
    handle: () => jsonAnswer(200, { windows: backend.maintenance.views().map((view) => windowToWire(view)) }),
  };
}

export function openWindowRoute(backend: Backend, clock: Pick<Clock, "wallMs">): CommandRoute<WindowRequest> {
  return {
    name: "maintenance_open",
    method: "POST",
    path: PATH,
    access: "operator",
    unscopedOnly: true,
    body: windowCheck(
      () => backend.configured().hostgroups.map((group) => group.name),
      () => clock.wallMs(),
    ),
    about: {
      summary:
        "Open a maintenance window for a time, at once or later, or change the one that was ordered under its name",
      answers: {
        200: { text: "The window.", schema: MaintenanceWire },
        409: { text: "The name or the number of windows forbids it." },
      },
    },
    audit: namedAudit(AUDIT, (_, fields) => fields?.targets.name ?? ""),
    handle: async ({ principal }, request) => {
      const order = orderOf(request, clock.wallMs(), principal.operator);
      const answer = await backend.maintenance.open(order);
      if (answer.kind === "refused") return { kind: "maintenance_refused", refusal: answer.refusal };
      const settled = await backend.settled(answer.isSaved, "maintenance", order.name);
      const response = jsonAnswer(200, windowToWire(answer.view, settled));
      return { kind: "outcome", response, result: "set", reason: orderedText(request, order) };
    },
  };
}

export function closeWindowRoute(backend: Backend): CommandRoute<OrderEndReason> {
  return {
    name: "maintenance_close",
    ...ORDER_END,
    path: `${PATH}/:name`,
    access: "operator",
    unscopedOnly: true,
    about: {
      summary: "Close a maintenance window that was ordered",
      answers: {
        200: { text: "The window that was closed.", schema: MaintenanceWire },
        404: { text: "No window of this name was ordered. Those of the configuration are changed there." },
      },
    },
    audit: namedAudit(AUDIT),
    handle: async (call, end) => {
      const closed = await backend.maintenance.close(call.params["name"] ?? "", commanderOf(call, end));
      if (closed === null) return { kind: "unknown_window" };
      const { order, isSaved } = closed;
      const view = { window: order.window, order, openUntil: null, opensNext: null };
      const reason = endedText(windowText(order.window), end);
      const settled = await backend.settled(isSaved, "maintenance", order.name);
      return { kind: "outcome", response: jsonAnswer(200, windowToWire(view, settled)), result: "cleared", reason };
    },
  };
}

function orderOf({ targets, ttlSeconds, opensAtMs }: WindowRequest, createdAt: number, operator: string): WindowOrder {
  const expiresAt = (opensAtMs ?? createdAt) + ttlSeconds * 1000;
  const window = windowOf(targets, { kind: "once", fromMs: opensAtMs ?? createdAt, untilMs: expiresAt });
  return { name: targets.name, window, createdAt, expiresAt, operator };
}

/** `watch only, for web for 3600 s from 2026-03-01T02:00:00.000Z: ticket 7`. */
function orderedText({ ttlSeconds, opensAtMs }: WindowRequest, { window }: WindowOrder): string {
  const from = opensAtMs === null ? "" : ` from ${timestamp(opensAtMs)}`;
  return `${windowText(window)} for ${ttlSeconds} s${from}${window.reason === "" ? "" : `: ${window.reason}`}`;
}
