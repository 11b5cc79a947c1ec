/** Routes that others put into the BGP speaker beside the service, read only. */
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { BgpRoutesWire, bgpRoutesToWire } from "../wire/bgp-routes.ts";

export function bgpRoutesRoute(backend: Pick<Backend, "orders">): ReadRoute {
  return {
    name: "bgp_routes",
    method: "GET",
    path: "/api/v1/bgp/routes",
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "Routes that others put into the BGP speaker, which the service leaves alone",
      answers: {
        200: { text: "The routes; `available` is false without a speaker that answers.", schema: BgpRoutesWire },
      },
    },
    handle: async () => jsonAnswer(200, bgpRoutesToWire(await backend.orders.foreignRoutes())),
  };
}
