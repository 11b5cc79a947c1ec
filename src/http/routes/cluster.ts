import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { ClusterWire, clusterToWire } from "../wire/cluster.ts";

export function clusterRoute(backend: Pick<Backend, "cluster">): ReadRoute {
  return {
    name: "cluster",
    method: "GET",
    path: "/api/v1/cluster",
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "The cluster as this brain sees it: the other brains, the orders that they share, and what is wrong",
      answers: { 200: { text: "The cluster.", schema: ClusterWire } },
    },
    handle: () => jsonAnswer(200, clusterToWire(backend.cluster())),
  };
}
