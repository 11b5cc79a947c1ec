import { jsonBlobAnswer } from "../answer.ts";
import type { HostsSnapshot } from "../hosts-snapshot.ts";
import type { ReadRoute } from "../route.ts";

export function hostsRoute(snapshot: HostsSnapshot): ReadRoute {
  return {
    name: "hosts",
    method: "GET",
    path: "/api/v1/hosts",
    access: "viewer",
    handle: async () => jsonBlobAnswer(await snapshot.read()),
  };
}
