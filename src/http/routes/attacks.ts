import { jsonAnswer } from "../answer.ts";
import type { ReadRoute } from "../route.ts";
import type { Service } from "../service.ts";
import { attacksToWire } from "../wire/attack.ts";

export function attacksRoute(service: Service): ReadRoute {
  return {
    name: "attacks",
    method: "GET",
    path: "/api/v1/attacks",
    access: "viewer",
    handle: () => jsonAnswer(200, attacksToWire(service.attacks())),
  };
}
