/** All routes, in the order of docs/interface.md#endpoints. */
import type { TokenConfig } from "../access/token-config.ts";
import type { Clock } from "../system/clock.ts";
import type { Backend, HostView } from "./backend.ts";
import type { EventFeed } from "./events/event-feed.ts";
import type { RulePolls } from "./holds/rule-polls.ts";
import type { ZonePolls } from "./holds/zone-polls.ts";
import type { HostsSnapshots } from "./hosts/hosts-snapshots.ts";
import type { ListPages } from "./list-pages.ts";
import type { Route } from "./route.ts";
import { attackSeriesRoute, attackSourcesRoute, attackTimelineRoute } from "./routes/attack-course.ts";
import { attackPcapRoute } from "./routes/attack-pcap.ts";
import { attackRoute, attacksRoute } from "./routes/attacks.ts";
import { auditRoute } from "./routes/audit.ts";
import { banPreviewRoute, orderPreviewRoute } from "./routes/ban-preview.ts";
import { banRoute, bansRoute, unbanRoute } from "./routes/bans.ts";
import { bgpRoutesRoute } from "./routes/bgp-routes.ts";
import { clusterRoute } from "./routes/cluster.ts";
import { configRoute, reloadPreviewRoute, reloadRoute } from "./routes/config.ts";
import { type Dashboard, dashboardRoutes } from "./routes/dashboard.ts";
import { diversionsRoute } from "./routes/diversions.ts";
import { dryRunReportRoute } from "./routes/dry-run-report.ts";
import { acmeChallengeRoute, acmeSlotRoute } from "./routes/edge/acme.ts";
import { edgeEventsRoute } from "./routes/edge/events.ts";
import { edgeHistoryRoute, edgeSourcesRoute } from "./routes/edge/history.ts";
import { clearLeverRoute, setLeverRoute } from "./routes/edge/lever.ts";
import { edgeNodesRoute } from "./routes/edge/nodes.ts";
import { edgeReportRoute } from "./routes/edge/report.ts";
import { edgeStatusRoute } from "./routes/edge/status.ts";
import { zonesRoute } from "./routes/edge/zones.ts";
import { endedAttacksRoute } from "./routes/ended-attacks.ts";
import { eventsRoute } from "./routes/events.ts";
import {
  filterRulePreviewRoute,
  filterRulesRoute,
  orderFilterRuleRoute,
  removeFilterRuleRoute,
} from "./routes/filter-rules.ts";
import { groupSettingsRoutes } from "./routes/group-settings.ts";
import { sharedLinkRoutes } from "./routes/guest-links.ts";
import { healthzRoute } from "./routes/healthz.ts";
import { hostgroupsRoute } from "./routes/hostgroups.ts";
import { hostsRoute } from "./routes/hosts.ts";
import { incidentNoteRoute, incidentOrderRoute, incidentRoute, incidentsRoute } from "./routes/incidents.ts";
import { closeWindowRoute, maintenanceRoute, openWindowRoute } from "./routes/maintenance.ts";
import { manyBansRoute } from "./routes/many-bans.ts";
import { type MetricsText, metricsRoute } from "./routes/metrics.ts";
import { notifyRoutes } from "./routes/notify.ts";
import { openapiRoute } from "./routes/openapi.ts";
import { prefixSetsRoute } from "./routes/prefix-sets.ts";
import { protectionRoute, protectionsRoute, protectRoute, unprotectRoute } from "./routes/protection.ts";
import { reportRoutes } from "./routes/reports.ts";
import { rulesRoute, scrubNodesRoute, scrubReportRoute } from "./routes/scrub.ts";
import { sessionRoute } from "./routes/session.ts";
import { signInRoutes } from "./routes/sign-in.ts";
import { sourceBlockPreviewRoute, sourceBlockRoute, sourcesRoute, sourceUnblockRoute } from "./routes/sources.ts";
import { statusRoute } from "./routes/status.ts";
import { suggestionRoute } from "./routes/suggestion.ts";
import { telemetryRoute } from "./routes/telemetry.ts";
import { partTrafficRoute, topTrafficRoute } from "./routes/top-traffic.ts";
import { totalTrafficRoute, trafficRoute } from "./routes/traffic.ts";
import { SlicedWork, type Slicing, type TablePass } from "./table-pass.ts";
import type { ZoneAccess } from "./zone-access.ts";

interface RouteSources {
  readonly backend: Backend;
  readonly hosts: Pick<TablePass<HostView>, "read">;
  readonly pages: ListPages;
  readonly snapshots: HostsSnapshots;
  /** For other large tables. */
  readonly slicing: Slicing;
  readonly events: EventFeed;
  readonly rulePolls: RulePolls;
  readonly zonePolls: ZonePolls;
  readonly zoneAccess: ZoneAccess;
  /** By the configuration in force. */
  readonly tokens: () => readonly TokenConfig[];
  readonly metrics: MetricsText;
  /** null: there is none. */
  readonly dashboard: Dashboard | null;
  readonly clock: Pick<Clock, "wallMs">;
}

export function routesOf(sources: RouteSources): readonly Route[] {
  const { backend, events, rulePolls, zonePolls, slicing, metrics, dashboard } = sources;
  const routes: readonly Route[] = [
    statusRoute(backend),
    sessionRoute(backend.signIn),
    ...signInRoutes(backend.signIn),
    ...attackRoutes(sources),
    ...sharedLinkRoutes(backend, slicing),
    ...hostRoutes(sources),
    ...installationRoutes(sources),
    ...historyRoutes(sources),
    eventsRoute(events),
    ...banRoutes(sources),
    reloadRoute(backend),
    reloadPreviewRoute(backend),
    ...standingOrderRoutes(sources),
    rulesRoute(rulePolls),
    scrubReportRoute(backend.scrub),
    scrubNodesRoute(backend.scrub, slicing),
    zonesRoute(zonePolls),
    ...edgeReportRoutes(sources),
    ...edgeOrderRoutes(sources),
    metricsRoute(metrics),
    healthzRoute(backend),
    ...(dashboard === null ? [] : dashboardRoutes(dashboard)),
  ];
  return [...routes, openapiRoute(routes, () => sources.tokens().length === 0)];
}

function attackRoutes({ backend, pages, slicing, clock }: RouteSources): readonly Route[] {
  return [
    attacksRoute(backend, { pages, slicing }),
    endedAttacksRoute(backend, clock),
    attackRoute(backend),
    attackSeriesRoute(backend),
    attackTimelineRoute(backend),
    attackSourcesRoute(backend),
    attackPcapRoute(backend),
    ...reportRoutes(backend, clock),
    incidentsRoute(backend, { pages, slicing }),
    incidentRoute(backend),
    incidentOrderRoute(backend),
    incidentNoteRoute(backend),
  ];
}

function hostRoutes({ backend, hosts, pages, snapshots }: RouteSources): readonly Route[] {
  return [hostsRoute(backend, { hosts, pages, snapshots }), hostgroupsRoute(backend), ...groupSettingsRoutes(backend)];
}

function banRoutes({ backend, pages, slicing }: RouteSources): readonly Route[] {
  return [
    bansRoute(backend, { pages, slicing }),
    banPreviewRoute(backend),
    banRoute(backend),
    manyBansRoute(backend),
    orderPreviewRoute(backend),
    unbanRoute(backend),
  ];
}

/** Orders that stay in force until they end or are removed. */
function standingOrderRoutes({ backend, pages, slicing, clock }: RouteSources): readonly Route[] {
  return [
    sourcesRoute(backend, { pages, slicing }),
    sourceBlockRoute(backend),
    sourceUnblockRoute(backend),
    sourceBlockPreviewRoute(backend),
    filterRulesRoute(backend),
    orderFilterRuleRoute(backend, clock),
    filterRulePreviewRoute(backend, clock),
    removeFilterRuleRoute(backend),
    maintenanceRoute(backend),
    openWindowRoute(backend, clock),
    closeWindowRoute(backend),
    protectionsRoute(backend),
    protectionRoute(backend),
    protectRoute(backend, clock),
    unprotectRoute(backend),
  ];
}

function edgeOrderRoutes({ backend, zoneAccess: access, clock }: RouteSources): readonly Route[] {
  const levers = { backend, access, clock };
  return [
    acmeSlotRoute(backend.edge),
    acmeChallengeRoute(backend.edge),
    setLeverRoute(levers),
    clearLeverRoute(levers),
  ];
}

/** Routes of the past, and of findings from it. */
function historyRoutes({ backend, clock, slicing }: RouteSources): readonly Route[] {
  const sliced = new SlicedWork(slicing);
  return [
    trafficRoute(backend, clock),
    topTrafficRoute(backend, clock),
    partTrafficRoute(backend, clock),
    totalTrafficRoute(backend, clock),
    auditRoute(backend, clock),
    dryRunReportRoute(backend, clock, sliced),
    suggestionRoute(backend, clock, sliced),
  ];
}

/** The routes for edge nodes' reports and the views computed from them. */
function edgeReportRoutes({ backend, tokens, slicing, zoneAccess: access, clock }: RouteSources): readonly Route[] {
  const { nodes, reports } = backend.edge;
  const history = { backend, nodes, access, clock };
  return [
    edgeReportRoute(nodes, reports),
    edgeNodesRoute({ nodes, reports, tokens, scrubNodes: () => backend.scrub.size }, slicing),
    edgeStatusRoute(reports, slicing),
    edgeHistoryRoute(history),
    edgeSourcesRoute(history),
    edgeEventsRoute({ backend, nodes, clock }),
  ];
}

/** Routes about the parts of this installation. */
function installationRoutes({ backend, clock, slicing }: RouteSources): readonly Route[] {
  return [
    prefixSetsRoute(backend, clock),
    clusterRoute(backend),
    ...notifyRoutes(backend, clock),
    telemetryRoute(backend),
    configRoute(backend, slicing),
    bgpRoutesRoute(backend),
    diversionsRoute(backend),
  ];
}
