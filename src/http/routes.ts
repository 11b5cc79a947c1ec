/** All routes, in the order of the interface's section 4. */
import type { HostsSnapshot } from "./hosts-snapshot.ts";
import type { Route } from "./route.ts";
import { attacksRoute } from "./routes/attacks.ts";
import { banRoute, bansRoute, unbanRoute } from "./routes/bans.ts";
import { reloadRoute } from "./routes/config.ts";
import { healthzRoute } from "./routes/healthz.ts";
import { hostsRoute } from "./routes/hosts.ts";
import { type MetricsText, metricsRoute } from "./routes/metrics.ts";
import { statusRoute } from "./routes/status.ts";
import type { Service } from "./service.ts";

export function routesOf(service: Service, snapshot: HostsSnapshot, metrics: MetricsText): readonly Route[] {
  return [
    statusRoute(service),
    attacksRoute(service),
    hostsRoute(snapshot),
    bansRoute(service),
    banRoute(service),
    unbanRoute(service),
    reloadRoute(service),
    metricsRoute(metrics),
    healthzRoute(service),
  ];
}
