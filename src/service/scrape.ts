/** Fills the metrics from the tables of the running service at each scrape. */
import type { GobgpAnnouncer } from "../bgp/gobgp-announcer.ts";
import type { DataPlane } from "../dataplane/data-plane.ts";
import type { Detector } from "../detection/judge/detector.ts";
import type { Diversions } from "../divert/diversions.ts";
import type { Incidents } from "../incident/incidents.ts";
import type { BanEngine } from "../mitigation/ban-engine.ts";
import type { FilterRules } from "../mitigation/operator/filter-rules.ts";
import type { Protections } from "../mitigation/protection/protections.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { ScrubNodes } from "../scrub/scrub-nodes.ts";
import type { SourceBlocks } from "../sourceblock/source-blocks.ts";
import type { StateStore } from "../storage/state-store.ts";
import type { PacketPath } from "./packet-path.ts";
import type { RuleFinder } from "./rule-finder.ts";

/** The parts that are read. */
interface ScrapedParts {
  readonly config: { readonly dryRun: boolean };
  readonly detector: Detector;
  readonly bans: BanEngine;
  readonly state: Pick<StateStore, "unsaved">;
  readonly diversions: Pick<Diversions, "views">;
  readonly rules: Pick<RuleFinder, "waiting">;
  readonly sourceBlocks: SourceBlocks;
  readonly protections: Protections;
  readonly incidents: Pick<Incidents, "counts">;
  readonly filterRules: Pick<FilterRules, "counts">;
  readonly scrub: ScrubNodes;
  readonly dataPlane: DataPlane | null;
  readonly announcer: GobgpAnnouncer | null;
  readonly packetPath: PacketPath | null;
  readonly telemetry: Pick<TelemetryWatch, "fillMetrics"> | null;
}

import type { TelemetryWatch } from "./telemetry.ts";

export function fillMetrics(metrics: Metrics, parts: ScrapedParts): void {
  const { config, detector, bans, state, sourceBlocks, protections, filterRules, scrub } = parts;
  const { dataPlane, announcer, packetPath } = parts;
  metrics.setDryRun(config.dryRun);
  metrics.detection.setActive(detector.active.values());
  metrics.baselines.set(detector.baselines.rates?.stats() ?? { count: 0, refused: 0, seasons: null });
  metrics.baselines.setLastingRises([...detector.active.values()].filter(({ lastingRise }) => lastingRise).length);
  metrics.mitigation.setBans(bans.counts());
  metrics.mitigation.setUnsaved(state.unsaved);
  metrics.mitigation.setDiversions(parts.diversions.views().map(({ phase }) => phase));
  metrics.mitigation.setRulesWaiting(parts.rules.waiting);
  metrics.sourceBlocks.set(sourceBlocks.counts());
  metrics.protection.set(protections.counts());
  metrics.incidents.set(parts.incidents.counts());
  metrics.scrub.set(scrub.views());
  metrics.filterRules.setRules(filterRules.counts());
  if (dataPlane !== null) {
    metrics.dataplane.set(dataPlane.view());
    const counts = [...(dataPlane.operatorCounts()?.entries() ?? [])];
    metrics.filterRules.setCounts(counts.map(([name, matched]) => ({ name, ...matched })));
  }
  parts.telemetry?.fillMetrics();
  if (packetPath !== null) {
    const { detection } = packetPath;
    metrics.capture.setSources(packetPath.sources());
    metrics.capture.setHostTable(packetPath.stats());
    metrics.detection.setRefused({
      attacks: detection.refused,
      replaced: detection.replaced,
      rows: detection.judge.overflow,
      carpetHosts: detection.carpetScan.overflow,
      doubts: detection.detector.doubtsRefused + detection.carpets.doubtsRefused,
    });
  }
  if (announcer !== null) fillBgpMetrics(metrics, announcer, bans);
}

function fillBgpMetrics(metrics: Metrics, announcer: GobgpAnnouncer, bans: BanEngine): void {
  const states = [...bans.active.values()].map((ban) => bans.routeState(ban)).filter((state) => state !== null);
  const routesAnnounced = states.filter(({ kind }) => kind === "announced").length;
  const { connected, neighbors } = announcer.status();
  metrics.mitigation.setBgp({ connected, neighbors, routesWanted: states.length, routesAnnounced });
}
