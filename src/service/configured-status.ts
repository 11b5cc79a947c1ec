/** The part of the status about the configuration in force. It is made once for each configuration: it may name very many prefixes. */
import type { Tenant } from "../access/fair-queue.ts";
import type { Config } from "../config/config.ts";
import type { StatusView } from "../http/backend.ts";

type Said = Pick<StatusView, "networks" | "thresholds" | "notify" | "hostgroups">;

export class ConfiguredStatus {
  #of: Config | null = null;
  /** By tenant, of which the configuration has as many. */
  readonly #said = new Map<Tenant, Said>();

  read(config: Config, tenant: Tenant): Said {
    if (this.#of !== config) this.#said.clear();
    this.#of = config;
    const known = this.#said.get(tenant) ?? saidOf(config, tenant);
    this.#said.set(tenant, known);
    return known;
  }
}

function saidOf(config: Config, tenant: Tenant): Said {
  return {
    networks: config.networks.map(({ text }) => text),
    thresholds: config.hostgroups[0]?.thresholds ?? [],
    notify: new Set(config.notify.targets.map(({ settings }) => settings.kind)),
    hostgroups: hostgroupsOf(config, tenant),
  };
}

/**
 * The implicit group is the operator's view of all hosts without a group: it belongs to no tenant
 * (docs/interface.md#status-hostgroups). @param tenant null: all.
 */
function hostgroupsOf(
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
