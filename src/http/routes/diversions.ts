/** Diversions by the scrubbing hook, also those that are being ended. */
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { DiversionsWire, diversionsToWire } from "../wire/diversions.ts";

export function diversionsRoute(backend: Pick<Backend, "orders">): ReadRoute {
  return {
    name: "diversions",
    method: "GET",
    path: "/api/v1/diversions",
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "Prefixes that the scrubbing hook diverts, is to divert, or is to release",
      answers: { 200: { text: "The diversions, by prefix.", schema: DiversionsWire } },
    },
    handle: () => jsonAnswer(200, diversionsToWire(backend.orders.diversions())),
  };
}
