/** The hosts: all of them in a snapshot, or a page of those that a query describes. */
import { jsonBlobAnswer } from "../answer.ts";
import { HostsPage } from "../hosts-page.ts";
import { HOSTS_PARAMETERS, hostsPageQuery, pageKey } from "../hosts-query.ts";
import type { HostsSnapshots, VisibleGroups } from "../hosts-snapshots.ts";
import type { ReadRoute } from "../route.ts";
import type { HostView, Service } from "../service.ts";
import type { TablePass } from "../table-pass.ts";
import { HostsWire } from "../wire/host.ts";

export function hostsRoute(
  service: Pick<Service, "tenancy">,
  hosts: TablePass<HostView>,
  snapshots: HostsSnapshots,
): ReadRoute {
  return {
    name: "hosts",
    method: "GET",
    path: "/api/v1/hosts",
    access: "viewer",
    about: {
      summary: "Hosts and their rates of now: all of them, or a page with any of the parameters",
      query: HOSTS_PARAMETERS,
      answers: { 200: { text: "The hosts.", schema: HostsWire } },
    },
    handle: async ({ principal: { tenant }, query }) => {
      const groups = (): VisibleGroups => (tenant === null ? null : service.tenancy().groupsOf(tenant));
      const page = hostsPageQuery(query);
      if (page?.kind === "invalid_query") return page;
      if (page === null) return jsonBlobAnswer(await snapshots.read(tenant, groups));
      return jsonBlobAnswer(await hosts.read(pageKey(tenant, query), () => new HostsPage(page, groups())));
    },
  };
}
