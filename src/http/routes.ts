/** All routes, in the order of the interface's section 4. */
import type { Clock } from "../system/clock.ts";
import type { EventFeed } from "./event-feed.ts";
import type { HostsPages } from "./hosts-pages.ts";
import type { HostsSnapshots } from "./hosts-snapshots.ts";
import type { Route } from "./route.ts";
import { attackRoute, attacksRoute } from "./routes/attacks.ts";
import { auditRoute } from "./routes/audit.ts";
import { banRoute, bansRoute, unbanRoute } from "./routes/bans.ts";
import { reloadRoute } from "./routes/config.ts";
import { eventsRoute } from "./routes/events.ts";
import { healthzRoute } from "./routes/healthz.ts";
import { hostsRoute } from "./routes/hosts.ts";
import { type MetricsText, metricsRoute } from "./routes/metrics.ts";
import { openapiRoute } from "./routes/openapi.ts";
import { rulesRoute, scrubNodesRoute, scrubReportRoute } from "./routes/scrub.ts";
import { sourceBlockRoute, sourcesRoute, sourceUnblockRoute } from "./routes/sources.ts";
import { statusRoute } from "./routes/status.ts";
import { trafficRoute } from "./routes/traffic.ts";
import type { RulePolls } from "./rule-polls.ts";
import type { Service } from "./service.ts";
import type { Slicing } from "./table-pass.ts";

export interface RouteSources {
  readonly service: Service;
  readonly pages: HostsPages;
  readonly snapshots: HostsSnapshots;
  /** For the other large tables. */
  readonly slicing: Slicing;
  readonly events: EventFeed;
  readonly rulePolls: RulePolls;
  readonly metrics: MetricsText;
  readonly clock: Pick<Clock, "wallMs">;
}

export function routesOf(sources: RouteSources): readonly Route[] {
  const { service, pages, snapshots, slicing, events, rulePolls, metrics, clock } = sources;
  const routes: readonly Route[] = [
    statusRoute(service),
    attacksRoute(service, slicing),
    attackRoute(service),
    hostsRoute(service, pages, snapshots),
    bansRoute(service, slicing),
    trafficRoute(service, clock),
    auditRoute(service, clock),
    eventsRoute(events),
    banRoute(service),
    unbanRoute(service),
    reloadRoute(service),
    sourcesRoute(service, slicing),
    sourceBlockRoute(service),
    sourceUnblockRoute(service),
    rulesRoute(rulePolls),
    scrubReportRoute(service.scrub),
    scrubNodesRoute(service.scrub, slicing),
    metricsRoute(metrics),
    healthzRoute(service),
  ];
  return [...routes, openapiRoute(routes)];
}
