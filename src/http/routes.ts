/** All routes, in the order of the interface's section 4. */
import type { HostsSnapshots } from "./hosts-snapshots.ts";
import type { Route } from "./route.ts";
import { attackRoute, attacksRoute } from "./routes/attacks.ts";
import { banRoute, bansRoute, unbanRoute } from "./routes/bans.ts";
import { reloadRoute } from "./routes/config.ts";
import { healthzRoute } from "./routes/healthz.ts";
import { hostsRoute } from "./routes/hosts.ts";
import { type MetricsText, metricsRoute } from "./routes/metrics.ts";
import { statusRoute } from "./routes/status.ts";
import type { HostView, Service } from "./service.ts";
import type { Slicing, TablePass } from "./table-pass.ts";

export interface RouteSources {
  readonly service: Service;
  readonly hosts: TablePass<HostView>;
  readonly snapshots: HostsSnapshots;
  /** For the other large tables. */
  readonly slicing: Slicing;
  readonly metrics: MetricsText;
}

export function routesOf({ service, hosts, snapshots, slicing, metrics }: RouteSources): readonly Route[] {
  return [
    statusRoute(service),
    attacksRoute(service, slicing),
    attackRoute(service),
    hostsRoute(service, hosts, snapshots),
    bansRoute(service, slicing),
    banRoute(service),
    unbanRoute(service),
    reloadRoute(service),
    metricsRoute(metrics),
    healthzRoute(service),
  ];
}
