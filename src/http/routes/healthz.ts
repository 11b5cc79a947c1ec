import { textAnswer } from "../answer.ts";
import type { OpenRoute } from "../route.ts";
import type { Service } from "../service.ts";

export function healthzRoute(service: Pick<Service, "isReady">): OpenRoute {
  return {
    name: "healthz",
    method: "GET",
    path: "/healthz",
    access: "open",
    handle: () => (service.isReady() ? textAnswer(200, "ok") : textAnswer(503, "starting")),
  };
}
