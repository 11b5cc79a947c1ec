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
  const views: StatusView["hostgroups"][number][] = [];
  for (const [i, { name, calculation, tenant: owner }] of hostgroups.entries()) {
    if (tenant !== null && (i === 0 || owner !== tenant)) continue;
    const { method: mitigation = "blackhole", dryRunDirections = [] } = mitigations[i] ?? {};
    views.push({ name, calculation, mitigation, dryRunDirections, ban: calculation === "per_host" });
  }
  return views;
}
