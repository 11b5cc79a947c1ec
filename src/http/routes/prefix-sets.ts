import type { Clock } from "../../system/clock.ts";
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { PrefixSetsWire, prefixSetToWire } from "../wire/prefix-set.ts";

export function prefixSetsRoute(backend: Pick<Backend, "prefixSets">, clock: Pick<Clock, "wallMs">): ReadRoute {
  return {
    name: "prefix_sets",
    method: "GET",
    path: "/api/v1/prefix-sets",
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "The named sets of prefixes: size and age of each, and why a newer file is not in use",
      answers: { 200: { text: "The sets, in the configuration's order.", schema: PrefixSetsWire } },
    },
    handle: () => {
      const now = clock.wallMs();
      return jsonAnswer(200, { prefix_sets: backend.prefixSets().map((view) => prefixSetToWire(view, now)) });
    },
  };
}
