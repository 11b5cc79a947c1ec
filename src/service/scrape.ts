/** What the tables of the running service say at the moment of a scrape, put into its metrics. */

import type { Metrics } from "../observability/metrics.ts";
import type { Floodwall } from "./floodwall.ts";

export function fillMetrics(metrics: Metrics, floodwall: Floodwall): void {
  const { config, detector, bans, packetPath } = floodwall;
  metrics.setDryRun(config.dryRun);
  metrics.detection.setActive(detector.active.values());
  metrics.baselines.set(detector.baselines.table ?? { count: 0, refused: 0, seasons: null });
  metrics.baselines.setLastingRises([...detector.active.values()].filter(({ lastingRise }) => lastingRise).length);
  metrics.mitigation.setBans(bans.counts());
  metrics.mitigation.setUnsaved(bans.unsaved);
  metrics.sourceBlocks.set(floodwall.sourceBlocks.counts());
  metrics.scrub.set(floodwall.scrub.views());
  if (floodwall.dataPlane !== null) metrics.dataplane.set(floodwall.dataPlane.view());
  if (packetPath !== null) {
    metrics.capture.setSources(packetPath.sources());
    metrics.capture.setHostTable(packetPath.stats());
    metrics.detection.setRefused({
      attacks: detector.refused + packetPath.carpets.refused,
      rows: packetPath.judge.overflow,
      carpetHosts: packetPath.carpetScan.overflow,
    });
  }
  fillBgpMetrics(metrics, floodwall);
}

function fillBgpMetrics(metrics: Metrics, { announcer, bans }: Floodwall): void {
  if (announcer === null) return;
  const states = [...bans.active.values()].map((ban) => bans.routeState(ban)).filter((state) => state !== null);
  const routesAnnounced = states.filter(({ kind }) => kind === "announced").length;
  const { connected, neighbors } = announcer.status();
  metrics.mitigation.setBgp({ connected, neighbors, routesWanted: states.length, routesAnnounced });
}
