import { Type } from "@sinclair/typebox";
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { StatusWire, statusToWire, TenantStatusWire } from "../wire/status.ts";

export function statusRoute(backend: Backend): ReadRoute {
  return {
    name: "status",
    method: "GET",
    path: "/api/v1/status",
    access: "viewer",
    about: {
      summary: "The state of the service; a token with a tenant gets a part of it",
      answers: { 200: { text: "The status.", schema: Type.Union([StatusWire, TenantStatusWire]) } },
    },
    handle: ({ principal }) => jsonAnswer(200, statusToWire(backend.status(principal.tenant), principal)),
  };
}
