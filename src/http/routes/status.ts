import { jsonAnswer } from "../answer.ts";
import type { ReadRoute } from "../route.ts";
import type { Service } from "../service.ts";
import { statusToWire } from "../wire/status.ts";

export function statusRoute(service: Service): ReadRoute {
  return {
    name: "status",
    method: "GET",
    path: "/api/v1/status",
    access: "viewer",
    handle: ({ principal }) => jsonAnswer(200, statusToWire(service.status(principal.tenant), principal)),
  };
}
