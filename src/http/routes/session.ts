import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { SessionWire, sessionToWire } from "../wire/session.ts";

export function sessionRoute(): ReadRoute {
  return {
    name: "session",
    method: "GET",
    path: "/api/v1/session",
    access: "viewer",
    about: {
      summary: "Who the caller is: the token's name, role and tenant",
      answers: { 200: { text: "The caller.", schema: SessionWire } },
    },
    handle: ({ principal }) => jsonAnswer(200, sessionToWire(principal)),
  };
}
