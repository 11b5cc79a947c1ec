import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { HostgroupsRatesWire, hostgroupRatesToWire } from "../wire/traffic/hostgroup-rates.ts";

export function hostgroupsRoute(backend: Pick<Backend, "tenancy" | "groupRates">): ReadRoute {
  return {
    name: "hostgroups",
    method: "GET",
    path: "/api/v1/hostgroups",
    access: "viewer",
    about: {
      summary: "Hostgroups with the current sums of their hosts' rates, and the thresholds of their hosts",
      answers: { 200: { text: "The hostgroups, in the configuration's order.", schema: HostgroupsRatesWire } },
    },
    handle: ({ principal }) => {
      const groups = backend.groupRates();
      if (groups === null) return jsonAnswer(200, { available: false, hostgroups: [] });
      const own = principal.tenant === null ? null : backend.tenancy().groupsOf(principal.tenant);
      const seen = groups.filter(({ name }) => own === null || own.has(name));
      return jsonAnswer(200, { available: true, hostgroups: seen.map(hostgroupRatesToWire) });
    },
  };
}
