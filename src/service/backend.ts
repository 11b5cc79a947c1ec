/** Answers the API's queries and carries out its commands, with the tables of the running service. */

import type { Tenant } from "../access/fair-queue.ts";
import { noSharedLinks, type SharedLinks } from "../access/guest-links.ts";
import type { Principal } from "../access/principal.ts";
import { ADMINISTRATOR, type Holder } from "../access/shares.ts";
import { Tenancy } from "../access/tenancy.ts";
import type { AuditAnswer, AuditQuery } from "../audit/audit-event.ts";
import type { Config } from "../config/config.ts";
import type { RuleCounts } from "../dataplane/rule-counts.ts";
import type { EndedAttacksQuery } from "../detection/attack/attack.ts";
import type { AttackSeries } from "../detection/attack/attack-series.ts";
import { type AttackSources, sourcesOf } from "../detection/attack/attack-sources.ts";
import { NO_PACKETS, type PacketCounts } from "../detection/attack/outcome-rings.ts";
import type { Edge } from "../edge/edge.ts";
import type {
  AttacksView,
  AttackView,
  Backend,
  BanPreview,
  BanTable,
  BanView,
  BgpView,
  Configured,
  Dropping,
  EdgeHistory,
  FilterRulePreview,
  GroupRatesView,
  HostView,
  SourceBlockPreview,
  StatusView,
} from "../http/backend.ts";
import type { NotifyTargets } from "../http/notify-targets.ts";
import type { OrderSources } from "../http/order-sources.ts";
import type { ReloadOutcome, ReloadPreview } from "../http/reload-views.ts";
import type { SignInSource } from "../http/routes/sign-in.ts";
import { SETTLED } from "../http/wire/saved.ts";
import type { Incidents } from "../incident/incidents.ts";
import type { Item } from "../machine/item.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { BanAnswer } from "../mitigation/ban-answer.ts";
import type { MaintenanceWindows } from "../mitigation/maintenance/maintenance-windows.ts";
import type { FilterRules, RuleOrder, RuleOrderAnswer } from "../mitigation/operator/filter-rules.ts";
import type { OperatorRule } from "../mitigation/operator/operator-rule.ts";
import type { BanOrder, ManyOrders } from "../mitigation/order/ban-order.ts";
import type { Protections } from "../mitigation/protection/protections.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { PrefixSetView } from "../prefixset/prefix-sets.ts";
import type { Update } from "../release/update-check.ts";
import type { ScrubNodes } from "../scrub/scrub-nodes.ts";
import type { BlockRefusal } from "../sourceblock/admission.ts";
import { type BlockRequest, type Pair, pairName } from "../sourceblock/source-block.ts";
import type { BlockAnswer, SourceBlockView, UnblockAnswer } from "../sourceblock/source-blocks.ts";
import type { FileFaultView } from "../system/file-fault.ts";
import type { Commander } from "../system/standing-orders.ts";
import { countStates } from "../telemetry/exporters.ts";
import type { TelemetryView } from "../telemetry/telemetry-view.ts";
import type { HistoryRecorder } from "../traffic/history-recorder.ts";
import type { PacketOutcome } from "../traffic/packet-outcome.ts";
import type { CapturedPacket } from "../traffic/pcap-file.ts";
import { joined, storedQuery } from "../traffic/recent-traffic.ts";
import type { TrafficPoint, TrafficQuery } from "../traffic/traffic-history.ts";
import type { TopPart, TopQuery } from "../traffic/traffic-parts.ts";
import type { PeaksQuery, TrafficPeaks } from "../traffic/traffic-peaks.ts";
import { shownBan } from "./attack-ids.ts";
import { attackView, attackViews, endedViews } from "./attack-views.ts";
import type { BackendSources, History } from "./backend-sources.ts";
import { clusterSource } from "./cluster-source.ts";
import { ConfiguredStatus } from "./configured-status.ts";
import { edgeHistoryOf, orHistoryFault, orKernelFault } from "./faults.ts";
import type { Floodwall } from "./floodwall.ts";
import { HostReadings } from "./host-readings.ts";
import { MovingTraffic } from "./moved-along.ts";
import { filterRuleEffect, sourceBlockPreview } from "./order-effects.ts";
import { orderSources } from "./order-sources.ts";
import { noSignIn } from "./sign-in.ts";

/** Nothing is notified. */
const noNotifyTargets = (): NotifyTargets => ({
  list: () => [],
  test: () => false,
  route: ({ severity }) => ({ severity: severity ?? "info", routes: null, targets: [] }),
  own: { set: async () => ({ kind: "refused", refusal: "kind_not_allowed" }) as const, remove: async () => null },
});

export class ServiceBackend implements Backend {
  readonly #floodwall: Floodwall;
  readonly #version: string;
  readonly #history: History | null;
  readonly #recorder: Pick<HistoryRecorder, "recent"> | null;
  readonly #availableUpdate: () => Update | null;
  readonly #machineProblems: () => readonly Item[] | null;
  readonly #faultyFiles: () => readonly FileFaultView[];
  readonly protections: Protections;
  readonly sharedLinks: SharedLinks;
  readonly signIn: SignInSource;
  readonly prefixSets: () => readonly PrefixSetView[];
  readonly notifyTargets: () => NotifyTargets;
  readonly orders: OrderSources;
  readonly maintenance: MaintenanceWindows;
  readonly scrub: ScrubNodes;
  readonly edge: Edge;
  readonly edgeHistory: EdgeHistory | null;
  readonly #hosts: HostReadings;
  readonly #moving: MovingTraffic;
  readonly #configuredStatus = new ConfiguredStatus();
  #tenancy: { readonly of: Config; readonly tenancy: Tenancy } | null = null;
  readonly cluster: Backend["cluster"];
  readonly settled: Backend["settled"];
  ready = false;

  constructor(floodwall: Floodwall, version: string, sources: BackendSources) {
    const { edge, history, recorder, availableUpdate, machineProblems } = sources;
    this.#floodwall = floodwall;
    this.#hosts = new HostReadings(floodwall);
    this.#moving = new MovingTraffic(floodwall);
    this.protections = floodwall.protections;
    this.scrub = floodwall.scrub;
    this.maintenance = floodwall.maintenance;
    this.orders = orderSources(floodwall, () => this.tenancy());
    this.sharedLinks = sources.sharedLinks ?? noSharedLinks();
    this.signIn = sources.signIn ?? noSignIn();
    this.edge = edge;
    this.#version = version;
    this.#history = history ?? null;
    this.#recorder = recorder ?? null;
    this.edgeHistory = history === undefined || history === null ? null : edgeHistoryOf(history);
    this.#availableUpdate = availableUpdate ?? (() => null);
    this.prefixSets = sources.prefixSets ?? (() => []);
    this.notifyTargets = sources.notifyTargets ?? noNotifyTargets;
    this.#machineProblems = machineProblems ?? (() => null);
    const answers = clusterSource(sources.cluster ?? null);
    this.cluster = () => answers.cluster();
    this.settled = (...order) => answers.settled(...order);
    this.#faultyFiles = sources.faultyFiles ?? (() => []);
  }

  isReady(): boolean {
    return this.ready;
  }

  isDryRun(): boolean {
    return this.#floodwall.config.dryRun;
  }

  /** Created once for each configuration. */
  tenancy(): Tenancy {
    const { config } = this.#floodwall;
    if (this.#tenancy?.of !== config) this.#tenancy = { of: config, tenancy: new Tenancy(config) };
    return this.#tenancy.tenancy;
  }

  status(tenant: string | null): StatusView {
    const { config, packetPath, dataPlane } = this.#floodwall;
    const telemetry = this.telemetry();
    return {
      version: this.#version,
      uptimeSeconds: (this.#floodwall.now().monotonicMs - this.#floodwall.startedMs) / 1000,
      dryRun: config.dryRun,
      ...this.#configuredStatus.read(config, tenant),
      ...this.#countsOf(tenant),
      bgp: this.#bgp(),
      scrubbing: config.mitigations[0]?.divert ?? null,
      scrubbingName: config.scrubbing?.nextHopName ?? null,
      update: this.#availableUpdate(),
      scrubNodes: this.scrub.size,
      edgeNodes: this.edge.nodes.size,
      capture: {
        trackedHosts: packetPath?.stats().trackedHosts ?? 0,
        maxHosts: config.capture?.maxHosts ?? 0,
        linkMbps: config.capture?.linkMbps ?? null,
        sources: packetPath?.sources() ?? [],
      },
      dataplane: dataPlane?.view() ?? null,
      storage: {
        unsaved: this.#floodwall.state.unsavedInAll,
        historyPaused: this.#history?.paused ?? null,
      },
      cluster: this.cluster(),
      telemetry: telemetry && countStates(telemetry.exporters),
      machineProblems: this.#machineProblems(),
      files: this.#faultyFiles(),
    };
  }

  attacks(): AttacksView {
    return attackViews(this.#floodwall);
  }

  attack(id: string, asker: Tenant): Promise<AttackView | null> {
    return attackView(id, this.#floodwall, { history: this.#history, asker });
  }

  endedAttacks(question: EndedAttacksQuery, asker: Tenant): Promise<readonly AttackView[] | null> {
    return endedViews(question, this.#floodwall, { history: this.#history, asker });
  }

  get incidents(): Incidents {
    return this.#floodwall.incidents;
  }

  attackSeries = (id: string): AttackSeries | null => this.#floodwall.detector.meters.seriesOf(this.#ownId(id));

  attackSources(id: string): AttackSources {
    return this.#floodwall.packetPath?.sourcesOf({ id: this.#ownId(id) }) ?? sourcesOf([], { top: 0, originOf: null });
  }

  attackPackets(id: string, outcome: PacketOutcome | null): readonly CapturedPacket[] {
    return this.#floodwall.packetPath?.recentPacketsOf({ id: this.#ownId(id) }, outcome) ?? [];
  }

  attackPacketCounts(id: string): PacketCounts {
    return this.#floodwall.packetPath?.recentCountsOf({ id: this.#ownId(id) }) ?? NO_PACKETS;
  }

  async traffic(question: TrafficQuery, asker: Tenant): Promise<readonly TrafficPoint[] | null> {
    if (this.#history === null) return null;
    const recent = (await this.#recorder?.recent(question.key, question.direction)) ?? [];
    const older = storedQuery(question, recent);
    const stored = older === null ? [] : await orHistoryFault(this.#history.ask("trafficPoints", older, asker));
    return joined(stored, recent, question);
  }

  async trafficTop(question: TopQuery, asker: Tenant): Promise<readonly TopPart[] | null> {
    return this.#history === null ? null : orHistoryFault(this.#history.ask("trafficTop", question, asker));
  }

  async trafficPeaks(question: PeaksQuery): Promise<TrafficPeaks | null> {
    return this.#history === null ? null : orHistoryFault(this.#history.ask("trafficPeaks", question, null));
  }

  async auditEvents(question: AuditQuery, asker: Tenant): Promise<AuditAnswer> {
    if (this.#history === null) return { available: false };
    return { available: true, events: await orHistoryFault(this.#history.ask("auditEvents", question, asker)) };
  }

  hosts = (): Iterable<HostView> => this.#hosts.hosts();

  groupRates = (): GroupRatesView[] | null => this.#hosts.groupRates();

  telemetry = (): TelemetryView | null => this.#floodwall.telemetry?.view() ?? null;

  configured(): Configured {
    const { config, reloader, groupSettings } = this.#floodwall;
    return { ...config, needsRestart: reloader.needsRestart, groupSettings: groupSettings.all() };
  }

  bans(): BanTable {
    return { bans: this.#floodwall.bans.all(), viewOf: (ban) => this.#banView(ban) };
  }

  async ban(order: BanOrder, by: Holder = ADMINISTRATOR): Promise<BanView> {
    const { bans } = this.#floodwall;
    return this.#answered(await bans.ban(order, () => this.#floodwall.now().wallMs, by));
  }

  banPreview(order: BanOrder, by: Holder): BanPreview {
    const { bans, config } = this.#floodwall;
    const { prefix } = order;
    const ban = bans.preview(order, this.#floodwall.now().wallMs, by);
    return {
      ban,
      movesWith: this.#moving.of(ban),
      group: config.hostgroups[config.lookup.group(prefix.address)]?.name ?? null,
      isRefresh: bans.active.has(prefix.text),
      replaces: bans.operators.replacedBy(ban),
    };
  }

  bannedPrefix(target: IpAddress | Prefix): Prefix | null {
    return this.#floodwall.bans.operators.inForce(target)?.prefix ?? null;
  }

  bansPreview(many: ManyOrders, by: Holder): readonly Ban[] {
    return this.#floodwall.bans.operators.previewAll(many, this.#floodwall.now().wallMs, by);
  }

  async unban(target: IpAddress | Prefix, by?: NonNullable<Ban["endedBy"]>): Promise<BanView | null> {
    const answer = await this.#floodwall.bans.unban(target, this.#floodwall.now().wallMs, by);
    return answer === null ? null : this.#answered(answer);
  }

  *sourceBlocks(): Generator<SourceBlockView & Dropping> {
    const { sourceBlocks, dataPlane } = this.#floodwall;
    const dropped = dataPlane?.pairsDropped();
    for (const view of sourceBlocks.live(this.#floodwall.now().wallMs)) {
      yield { ...view, dropped: dropped?.get(pairName(view.block)) ?? null };
    }
  }

  blockRefusal({ source, victim }: Parameters<Backend["blockRefusal"]>[0], by: Holder): BlockRefusal | null {
    const { sourceBlocks } = this.#floodwall;
    return source === null ? sourceBlocks.refusalOfVictim(victim, by) : sourceBlocks.refusalOf({ source, victim }, by);
  }

  blockSource(order: BlockRequest): Promise<BlockAnswer> {
    return orKernelFault(this.#floodwall.sourceBlocks.block(order, () => this.#floodwall.now().wallMs));
  }

  unblockSource(pair: Pair, by: Commander): Promise<UnblockAnswer> {
    return orKernelFault(this.#floodwall.sourceBlocks.unblock(pair, this.#floodwall.now().wallMs, by));
  }

  get filterRules(): FilterRules {
    return this.#floodwall.filterRules;
  }

  filterRuleCounts = (): ReadonlyMap<string, RuleCounts> | null => this.#floodwall.dataPlane?.operatorCounts() ?? null;

  orderFilterRule = (order: RuleOrder, rule: OperatorRule, by: Commander): Promise<RuleOrderAnswer> =>
    this.#floodwall.filterRules.order(order, rule, by);

  filterRulePreview(order: RuleOrder, rule: OperatorRule): FilterRulePreview {
    return { ...this.filterRules.preview(order, rule), effect: filterRuleEffect(rule, this.#floodwall) };
  }

  sourceBlockPreview = (order: BlockRequest, by: Principal): SourceBlockPreview =>
    sourceBlockPreview(order, this.#floodwall, (host) => this.tenancy().owns(by, host));

  reload = (): Promise<ReloadOutcome> => this.#floodwall.reload();

  setGroup: Backend["setGroup"] = (...order) => this.#floodwall.groupSettings.set(...order);

  reloadPreview = (): Promise<ReloadPreview> => this.#floodwall.reloader.preview();

  #countsOf(tenant: string | null): Pick<StatusView, "activeAttacks" | "activeBans"> {
    const { detector, bans } = this.#floodwall;
    if (tenant === null) return { activeAttacks: detector.active.size, activeBans: bans.active.size };
    const tenancy = this.tenancy();
    return {
      activeAttacks: [...detector.active.values()].filter((attack) => tenancy.ownerOf(attack) === tenant).length,
      activeBans: [...bans.active.values()].filter(({ target }) => tenancy.tenantOf(target) === tenant).length,
    };
  }

  #bgp(): BgpView | null {
    const { config, announcer } = this.#floodwall;
    return config.bgp === null || announcer === null ? null : { config: config.bgp, ...announcer.status() };
  }

  async #answered({ ban, isSaved }: BanAnswer): Promise<BanView> {
    const settled = ban.state === "rejected" ? SETTLED : await this.settled(isSaved, "bans", ban.prefix.text);
    return { ...this.#banView(ban), settled };
  }

  /** The own id of an attack that is shown with this id. */
  readonly #ownId = (shown: string): string => this.#floodwall.attackIds.ownIdOf(shown);

  #banView(ban: Ban): BanView {
    const { bans, dataPlane, attackIds } = this.#floodwall;
    return {
      ban: shownBan(ban, attackIds),
      movesWith: ban.state === "active" ? this.#moving.of(ban) : null,
      routeState: bans.routeState(ban),
      dropped: dataPlane?.droppedBy(ban.id) ?? null,
      leftOutRules: this.scrub.leftOutRulesOf(ban),
      refusing: this.scrub.refusing(ban),
      isNodeIdle: this.scrub.isNodeIdle(ban),
    };
  }
}
