/** The hostgroups as the status of a tenant, or of the operator, lists them. */
import type { Config } from "../config/config.ts";
import type { StatusView } from "../http/backend.ts";

/**
 * The implicit group is the operator's view of all hosts without a group: it belongs to no tenant
 * (docs/interface.md#status-hostgroups). @param tenant null: all.
 */
export function hostgroupsOf(
  { hostgroups, mitigations }: Pick<Config, "hostgroups" | "mitigations">,
  tenant: string | null,
): StatusView["hostgroups"] {
  const of = new Map(hostgroups.map(({ name }, i) => [name, mitigations[i]]));
  const own = tenant === null ? hostgroups : hostgroups.slice(1).filter((group) => group.tenant === tenant);
  return own.map(({ name, calculation }) => ({
    name,
    calculation,
    mitigation: of.get(name)?.method ?? "blackhole",
    dryRunDirections: of.get(name)?.dryRunDirections ?? [],
    ban: calculation === "per_host",
  }));
}
