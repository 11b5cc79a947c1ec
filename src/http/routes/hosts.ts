/** The hosts: a snapshot of all, or one page for a query. */

import type { Backend } from "../backend.ts";
import type { HostsPages } from "../hosts/hosts-pages.ts";
import { HOSTS_PARAMETERS, hostsPageQuery } from "../hosts/hosts-query.ts";
import type { HostsSnapshots, VisibleGroups } from "../hosts/hosts-snapshots.ts";
import type { ReadRoute } from "../route.ts";
import { jsonBlobAnswer } from "../server/answer.ts";
import { HostsWire } from "../wire/traffic/host.ts";

export function hostsRoute(backend: Pick<Backend, "tenancy">, pages: HostsPages, snapshots: HostsSnapshots): ReadRoute {
  return {
    name: "hosts",
    method: "GET",
    path: "/api/v1/hosts",
    access: "viewer",
    about: {
      summary: "Hosts and their current rates: all of them, or a page if any parameter is given",
      query: HOSTS_PARAMETERS,
      answers: {
        200: { text: "The hosts.", schema: HostsWire },
        429: { text: "Too many pages are read at once; Retry-After says when to try again." },
      },
    },
    handle: async ({ principal, query }) => {
      const { tenant } = principal;
      const groups = (): VisibleGroups => (tenant === null ? null : backend.tenancy().groupsOf(tenant));
      const page = hostsPageQuery(query);
      if (page?.kind === "invalid_query") return page;
      if (page === null) return jsonBlobAnswer(await snapshots.read(tenant, groups));
      const answer = await pages.read({ principal, page, query, groups });
      return answer instanceof Blob ? jsonBlobAnswer(answer) : answer;
    },
  };
}
