/** The hosts: a snapshot of all, or one page for a query. */

import type { Backend, HostView } from "../backend.ts";
import { HostsPage } from "../hosts/hosts-page.ts";
import { HOSTS_PARAMETERS, hostsPageQuery, pageKey } from "../hosts/hosts-query.ts";
import type { HostsSnapshots, VisibleGroups } from "../hosts/hosts-snapshots.ts";
import type { ListPages } from "../list-pages.ts";
import { TOO_MANY_PAGES } from "../list-views.ts";
import type { ReadRoute } from "../route.ts";
import { jsonBlobAnswer } from "../server/answer.ts";
import type { TablePass } from "../table-pass.ts";
import { HostsWire } from "../wire/traffic/host.ts";

interface HostsReading {
  readonly hosts: Pick<TablePass<HostView>, "read">;
  readonly pages: ListPages;
  readonly snapshots: HostsSnapshots;
}

export function hostsRoute(backend: Pick<Backend, "tenancy">, { hosts, pages, snapshots }: HostsReading): ReadRoute {
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
        ...TOO_MANY_PAGES,
      },
    },
    handle: async ({ principal, query }) => {
      const { tenant } = principal;
      const groups = (): VisibleGroups => (tenant === null ? null : backend.tenancy().groupsOf(tenant));
      const page = hostsPageQuery(query);
      if (page?.kind === "invalid_query") return page;
      if (page === null) return jsonBlobAnswer(await snapshots.read(tenant, groups));
      const groupsOfPage = () =>
        wantedGroups(groups(), page.tenant === null ? null : backend.tenancy().groupsOf(page.tenant));
      const makePage = () => new HostsPage(page, groupsOfPage());
      const answer = await pages.read(principal, () => hosts.read(pageKey(tenant, query), makePage, tenant));
      return answer instanceof Blob ? jsonBlobAnswer(answer) : answer;
    },
  };
}

/** Those that the caller may see, and of them those of the tenant that the query names. */
function wantedGroups(visible: VisibleGroups, named: VisibleGroups): VisibleGroups {
  if (visible === null || named === null) return visible ?? named;
  return visible.intersection(named);
}
