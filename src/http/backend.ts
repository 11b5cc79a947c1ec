/** The service's interface for the routes, in domain terms. Implemented by the composition root. */

import type { Tenant } from "../access/fair-queue.ts";
import type { SharedLinks } from "../access/guest-links.ts";
import type { Principal } from "../access/principal.ts";
import type { Holder } from "../access/shares.ts";
import type { Tenancy } from "../access/tenancy.ts";
import type { AuditAnswer, AuditQuery } from "../audit/audit-event.ts";
import type { BgpConfig } from "../bgp/bgp-config.ts";
import type { ClusterReport } from "../cluster/cluster-view.ts";
import type { SourceView } from "../dataplane/capture.ts";
import type { DataPlaneView } from "../dataplane/data-plane.ts";
import type { Dropped } from "../dataplane/data-plane-rules.ts";
import type { RuleCounts } from "../dataplane/rule-counts.ts";
import type { Attack, Calm, EndedAttacksQuery } from "../detection/attack/attack.ts";
import type { AttackSeries } from "../detection/attack/attack-series.ts";
import type { AttackSources } from "../detection/attack/attack-sources.ts";
import type { PacketCounts } from "../detection/attack/outcome-rings.ts";
import type { RateErrors } from "../detection/certainty/sampling.ts";
import type { DetectionConfig } from "../detection/judge/detection-config.ts";
import type { Edge } from "../edge/edge.ts";
import type {
  EdgeEvent,
  EdgeEventsQuery,
  EdgeHistoryPoint,
  EdgeHistoryQuery,
  EdgeSourcesQuery,
  EdgeSourceTotal,
} from "../edge/reports/edge-history.ts";
import type { Incidents } from "../incident/incidents.ts";
import type { Item } from "../machine/item.ts";
import type { RouteState } from "../mitigation/announcer.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { MovedAlong } from "../mitigation/enclosing.ts";
import type { Method } from "../mitigation/escalation.ts";
import type { GroupSettings } from "../mitigation/group-settings.ts";
import type { MaintenanceWindows } from "../mitigation/maintenance/maintenance-windows.ts";
import type { MitigationSections, RouteTerms } from "../mitigation/mitigation-config.ts";
import type { FilterRules, RuleOrder, RuleOrderAnswer, RuleOrderPreview } from "../mitigation/operator/filter-rules.ts";
import type { OperatorRule } from "../mitigation/operator/operator-rule.ts";
import type { BanOrder, ManyOrders } from "../mitigation/order/ban-order.ts";
import type { Protections } from "../mitigation/protection/protections.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { PrefixSetView } from "../prefixset/prefix-sets.ts";
import type { Update } from "../release/update-check.ts";
import type { UpdateCheckConfig } from "../release/update-check-config.ts";
import type { RefusingNode } from "../scrub/node-enforcements.ts";
import type { ScrubNodes } from "../scrub/scrub-nodes.ts";
import type { BlockRefusal } from "../sourceblock/admission.ts";
import type { BlockRequest, Pair } from "../sourceblock/source-block.ts";
import type { BlockAnswer, SourceBlockView, UnblockAnswer } from "../sourceblock/source-blocks.ts";
import type { StorageConfig } from "../storage/storage-config.ts";
import type { FileFaultView } from "../system/file-fault.ts";
import type { Commander } from "../system/standing-orders.ts";
import type { TargetKind } from "../targets/target-words.ts";
import type { ExporterState } from "../telemetry/exporters.ts";
import type { TelemetryView } from "../telemetry/telemetry-view.ts";
import type { PacketOutcome } from "../traffic/packet-outcome.ts";
import type { CapturedPacket } from "../traffic/pcap-file.ts";
import type { Direction, Rates, Thresholds } from "../traffic/rates.ts";
import type { TrafficPoint, TrafficQuery } from "../traffic/traffic-history.ts";
import type { TopPart, TopQuery } from "../traffic/traffic-parts.ts";
import type { PeaksQuery, TrafficPeaks } from "../traffic/traffic-peaks.ts";
import type { ClusterSource } from "./cluster-source.ts";
import type { NotifyTargets } from "./notify-targets.ts";
import type { OrderEffect, OrderSources } from "./order-sources.ts";
import type { ReloadOutcome, ReloadPreview, SettingsOutcome } from "./reload-views.ts";
import type { SignInSource } from "./routes/sign-in.ts";
import type { Settled } from "./wire/saved.ts";

/** In no order; the views are made one by one, since there may be ten thousand. */
export interface BanTable {
  readonly bans: readonly Ban[];
  readonly viewOf: (ban: Ban) => BanView;
}

export interface Backend extends ClusterSource {
  /** False until all components have started; until then only open routes are served. */
  isReady(): boolean;
  isDryRun(): boolean;
  /** By the configuration in force. */
  tenancy(): Tenancy;
  /** Counts and hostgroups of the tenant; null: all. */
  status(tenant: string | null): StatusView;
  attacks(): AttacksView;
  /** An active, ended or recorded attack; null: unknown id. Rejects with a HistoryFault. */
  attack(id: string, asker: Tenant): Promise<AttackView | null>;
  /** Newest end first; null: storage is off. Rejects with a HistoryFault. */
  endedAttacks(question: EndedAttacksQuery, asker: Tenant): Promise<readonly AttackView[] | null>;
  /** Attacks by customer, kind and time. Orders reject with a BackendFault if they could not be saved. */
  readonly incidents: Pick<Incidents, "listed" | "get" | "workOf" | "order" | "note">;
  /** Links for people without a token. Changes reject with a BackendFault if they could not be saved. */
  readonly sharedLinks: Pick<SharedLinks, "isAllowed" | "all" | "of" | "share" | "revoke">;
  /** People sign in by an identity provider. */
  readonly signIn: SignInSource;
  /** null: there is none of this attack, or not any more. */
  attackSeries(id: string): AttackSeries | null;
  /** Empty: no packets are kept of this attack, or not any more. */
  attackSources(id: string): AttackSources;
  /** The newest sampled headers, oldest first; empty: as above. @param outcome null: all packets. */
  attackPackets(id: string, outcome: PacketOutcome | null): readonly CapturedPacket[];
  /** How many those are. */
  attackPacketCounts(id: string): PacketCounts;
  /**
   * Read row by row while the event loop runs in between, so hosts may come and go. A row is valid until the next one
   * is read, and only one reading may be in progress.
   */
  hosts(): Iterable<HostView>;
  /** In the configuration's order; null: nothing is captured. */
  groupRates(): readonly GroupRatesView[] | null;
  /** In the configuration's order. */
  prefixSets(): readonly PrefixSetView[];
  readonly notifyTargets: () => NotifyTargets;
  /** null: no flow telemetry is configured. */
  telemetry(): TelemetryView | null;
  /** The configuration in force, which may differ from the file after a reload: `needsRestart` names those keys. */
  configured(): Configured;
  /** Active, refused and ended. */
  bans(): BanTable;
  /** Oldest first; null: storage is off. Rejects with a HistoryFault. */
  traffic(question: TrafficQuery, asker: Tenant): Promise<readonly TrafficPoint[] | null>;
  /** The largest first, of what is stored; null: storage is off. Rejects with a HistoryFault. */
  trafficTop(question: TopQuery, asker: Tenant): Promise<readonly TopPart[] | null>;
  /** null: storage is off. Rejects with a HistoryFault. */
  trafficPeaks(question: PeaksQuery): Promise<TrafficPeaks | null>;
  /** Newest first. Rejects with a HistoryFault. */
  auditEvents(question: AuditQuery, asker: Tenant): Promise<AuditAnswer>;
  /** Resolves with a rejected ban if policy refuses. Rejects with a BackendFault if the ban cannot be saved. */
  ban(order: BanOrder, by: Holder): Promise<BanView>;
  /** The ban that ban() would return now. Changes nothing. */
  banPreview(order: BanOrder, by: Holder): BanPreview;
  /** The bans that these orders would make together now, in place of those that end. Changes nothing. */
  bansPreview(many: ManyOrders, by: Holder): readonly Ban[];
  readonly orders: OrderSources;
  readonly maintenance: Pick<MaintenanceWindows, "views" | "open" | "close">;
  /** The prefix of the ban that unban() would end now; null: none is active. */
  bannedPrefix(target: IpAddress | Prefix): Prefix | null;
  /** The withdrawn ban, of an address the one of the narrowest prefix that begins with it; null: none is active. */
  unban(target: IpAddress | Prefix, by: Commander): Promise<BanView | null>;
  /** Active blocks, oldest first; may be read while blocks come and go. */
  sourceBlocks(): Iterable<SourceBlockView & Dropping>;
  /** The refusal that blockSource() would answer now; null: none. @param source null: whatever the source is */
  blockRefusal(
    pair: { readonly source: IpAddress | null; readonly victim: IpAddress },
    by: Holder,
  ): BlockRefusal | null;
  /** Rejects with a BackendFault when it could not be kept or installed. */
  blockSource(order: BlockRequest): Promise<BlockAnswer>;
  /** Rejects with a BackendFault when that could not be carried out. */
  unblockSource(pair: Pair, by: Commander): Promise<UnblockAnswer>;
  /** The operator's rules for the data plane. */
  readonly filterRules: Pick<FilterRules, "views" | "remove">;
  /** By the name of the rule; null: none is in the kernel. */
  filterRuleCounts(): ReadonlyMap<string, RuleCounts> | null;
  /** Rejects with a BackendFault when it could not be kept. */
  orderFilterRule(order: RuleOrder, rule: OperatorRule, by: Commander): Promise<RuleOrderAnswer>;
  /** The answer of orderFilterRule() now, and the effect on the last minute's traffic. Changes nothing. */
  filterRulePreview(order: RuleOrder, rule: OperatorRule): FilterRulePreview;
  /** The same of blockSource(). @param by of a tenant, only the traffic of its hosts counts. */
  sourceBlockPreview(order: BlockRequest, by: Principal): SourceBlockPreview;
  /** Protection profiles chosen at run time. Choosing rejects with a BackendFault if it could not be saved. */
  readonly protections: Protections;
  /** The scrub nodes: their reports and rule documents. */
  readonly scrub: ScrubNodes;
  /** The edge nodes and their zones. Setting a lever rejects with a BackendFault if it could not be saved. */
  readonly edge: Edge;
  /** null: storage is off. */
  readonly edgeHistory: EdgeHistory | null;
  /** Reads the configuration file again. An invalid file changes nothing. */
  reload(): Promise<ReloadOutcome>;
  /** The changes of a reload now; nothing is changed. */
  reloadPreview(): Promise<ReloadPreview>;
  /**
   * Sets thresholds, method and never-banned addresses of a hostgroup over the configuration; null takes them back.
   * Rejects with a BackendFault if that cannot be saved.
   */
  setGroup(name: string, settings: GroupSettings | null, by: Holder): Promise<SettingsOutcome>;
}

/** The history of edge nodes' reports. All calls reject with a HistoryFault. */
export interface EdgeHistory {
  /** Oldest first. */
  points(question: EdgeHistoryQuery, asker: Tenant): Promise<readonly EdgeHistoryPoint[]>;
  /** Busiest first. */
  sources(question: EdgeSourcesQuery, asker: Tenant): Promise<readonly EdgeSourceTotal[]>;
  /** Newest first. */
  events(question: EdgeEventsQuery, asker: Tenant): Promise<readonly EdgeEvent[]>;
}

/** The environment failed (disk, kernel, BGP): answered 503 with this message, which must be suitable for callers. */
export class BackendFault extends Error {
  override readonly name = "BackendFault";
}

/** The history failed: answered 502. The store has logged and counted the failure already. */
export class HistoryFault extends Error {
  override readonly name = "HistoryFault";
}

export interface StatusView {
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly dryRun: boolean;
  readonly networks: readonly string[];
  readonly activeAttacks: number;
  readonly activeBans: number;
  /** Thresholds of the group `global`. */
  readonly thresholds: Thresholds;
  readonly hostgroups: readonly HostgroupView[];
  /** null: no announcer is configured. */
  readonly bgp: BgpView | null;
  /** Next hops of diverted traffic; null: not configured. */
  readonly scrubbing: RouteTerms | null;
  /** Name of its next hops; null: none. */
  readonly scrubbingName: string | null;
  /** The kinds of targets that are configured. No other part of their configuration is shown. */
  readonly notify: ReadonlySet<TargetKind>;
  /** A newer release; null: none is known, or update checks are off. */
  readonly update: Update | null;
  /** Configured scrub nodes. */
  readonly scrubNodes: number;
  readonly edgeNodes: number;
  readonly capture: CaptureView;
  /** null: none is configured. */
  readonly dataplane: DataPlaneView | null;
  readonly storage: StorageView;
  /** null or absent: this brain is alone. */
  readonly cluster?: ClusterReport | null;
  /** Exporters of flow telemetry by state; null: none is configured. */
  readonly telemetry: Readonly<Record<ExporterState, number>> | null;
  /** Findings about this machine for the configuration; null: no check has finished. */
  readonly machineProblems: readonly Item[] | null;
  /** Files that the configuration names and that cannot be used now. */
  readonly files: readonly FileFaultView[];
}

interface StorageView {
  /** Changes in force that the state database has not taken yet. */
  readonly unsaved: number;
  /** Why no history is written now; null: it is written, or storage is off. */
  readonly historyPaused: string | null;
}

interface HostgroupView {
  readonly name: string;
  readonly calculation: "per_host" | "total";
  readonly mitigation: Method;
  /** Whether its hosts are banned at all. */
  readonly ban: boolean;
  /** Directions whose attacks make virtual bans. Absent: none. */
  readonly dryRunDirections?: readonly Direction[];
}

export interface BgpView {
  readonly config: BgpConfig;
  /** Whether the BGP speaker answers. */
  readonly connected: boolean;
  /** Major version of GoBGP; null while it does not answer. */
  readonly gobgpVersion: number | null;
  /** Why the speaker does not answer. */
  readonly fault: string | null;
  readonly neighbors: readonly BgpNeighborView[];
}

export interface BgpNeighborView {
  readonly address: string;
  readonly remoteAsn: number;
  readonly state: string;
  /** Wall clock, ms; 0: not known. */
  readonly sinceMs: number;
  /** The address families of the session; empty without one. */
  readonly families: readonly string[];
  /** Our routes in the neighbor's out-table. */
  readonly advertised: number;
  /** FlowSpec rules that are announced to no neighbor for now, because this one resets its session over them. */
  readonly keptBack: number;
  /** How it ended its last session, while it has none; null: not known. */
  readonly fault: string | null;
}

export interface CaptureView {
  readonly trackedHosts: number;
  readonly maxHosts: number;
  /** Rate of all links together; null: not known. */
  readonly linkMbps: number | null;
  /** Empty: control plane only. */
  readonly sources: readonly SourceView[];
}

export interface AttacksView {
  readonly active: readonly AttackView[];
  /** Ended, newest first. */
  readonly recent: readonly AttackView[];
}

export interface AttackView {
  /** While the attack is active, its rates are the current ones. */
  readonly attack: Attack;
  /** The current or last ban. */
  readonly ban: Ban | null;
  /** Absent or null: it is not calm. */
  readonly calm?: Calm | null;
  /** After how long within the thresholds it ends. Absent or null: it has ended, or is a record. */
  readonly endsAfterSeconds?: number | null;
}

export interface AttackSeriesView {
  readonly attack: Attack;
  readonly series: AttackSeries | null;
}

export interface HostView {
  readonly target: IpAddress;
  readonly group: string;
  readonly rates: Rates;
  readonly ratesOut: Rates;
  /** Error of `rates` and `ratesOut`; null: they are exact. */
  readonly samplingError: RateErrors | null;
  readonly samplingErrorOut: RateErrors | null;
  /** The base trio of the baseline; null: no baseline is configured for its group. */
  readonly baseline: Rates | null;
  readonly baselineOut: Rates | null;
  /** The attack in progress. */
  readonly attack: Pick<Attack, "metric" | "direction"> | null;
}

/** The sums of a hostgroup's hosts, and the thresholds of its hosts. */
export interface GroupRatesView {
  readonly name: string;
  readonly thresholds: Thresholds;
  /** null: outgoing traffic is not judged. */
  readonly thresholdsOutgoing: Thresholds | null;
  readonly rates: Rates;
  readonly ratesOut: Rates;
}

/** The details that are shown with a ban or a source block. */
export interface Dropping {
  /** By this machine's data plane; null or absent: not known, or not in the kernel. */
  readonly dropped?: Dropped | null;
  /** In the answer to an order that is in force. */
  readonly settled?: Settled;
}

/** The configuration of detection and mitigation. Has no secrets. */
export interface Configured
  extends Pick<MitigationSections, "hostgroups" | "carpet" | "mitigations" | "scrubProfiles" | "ban"> {
  readonly samples: MitigationSections["samples"] & Record<"asnFile" | "countryFile", string | null>;
  readonly protectedWhitelist: readonly Prefix[];
  readonly detection: DetectionConfig;
  readonly storage: StorageConfig;
  readonly updateCheck: UpdateCheckConfig;
  readonly needsRestart: readonly string[];
  /** Operators' settings by the API, by hostgroup. Absent: none. */
  readonly groupSettings?: Readonly<Record<string, GroupSettings>>;
}

export interface FilterRulePreview extends RuleOrderPreview {
  readonly effect: OrderEffect;
}

export interface SourceBlockPreview {
  /** null: it would be accepted. */
  readonly refusal: BlockRefusal | null;
  readonly dryRun: boolean;
  readonly effect: OrderEffect;
}

export interface BanPreview {
  /** Rejected if policy would refuse it. */
  readonly ban: Ban;
  /** The hostgroup of the address; null: it is outside of all networks. */
  readonly group: string | null;
  /** The address has a ban: the command would extend it and make it a manual one. */
  readonly isRefresh: boolean;
  readonly movesWith?: MovedAlong | null;
  /** Bans whose blackhole of a wider prefix it replaces, the oldest first. */
  readonly replaces?: readonly Ban[];
}

export interface BanView extends Dropping {
  readonly ban: Ban;
  readonly movesWith?: MovedAlong | null;
  /** null: nothing is to be announced, or there is no announcer. */
  readonly routeState: RouteState | null;
  /** Number of its rules that its scrub node does not get, and that nothing replaces; absent: not known. */
  readonly leftOutRules?: number;
  /** Scrub nodes that do not enforce its rules; absent: not known. */
  readonly refusing?: readonly RefusingNode[];
  /** Its scrub node reports no traffic at all, a while after the ban began. Absent: false, or not known. */
  readonly isNodeIdle?: boolean;
  /** Number of the neighbors that have been sent all of it, for callers who do not see which. */
  readonly reached?: { readonly neighbors: number; readonly of: number } | null;
}
