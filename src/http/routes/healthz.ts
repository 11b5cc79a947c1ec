import { Type } from "@sinclair/typebox";
import type { Backend } from "../backend.ts";
import type { OpenRoute } from "../route.ts";
import { textAnswer } from "../server/answer.ts";

export function healthzRoute(backend: Pick<Backend, "isReady">): OpenRoute {
  return {
    name: "healthz",
    method: "GET",
    path: "/healthz",
    access: "open",
    about: {
      summary: "Whether all components have started",
      answers: {
        200: { text: "ok", schema: Type.Literal("ok"), mediaType: "text/plain" },
        503: { text: "starting", schema: Type.Literal("starting"), mediaType: "text/plain" },
      },
    },
    handle: () => (backend.isReady() ? textAnswer(200, "ok") : textAnswer(503, "starting")),
  };
}
