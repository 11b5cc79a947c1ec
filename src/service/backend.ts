/** Answers the API's queries and carries out its commands, with the tables of the running service. */

import type { Tenant } from "../access/fair-queue.ts";
import { noSharedLinks } from "../access/guest-links.ts";
import { ADMINISTRATOR, type Holder } from "../access/shares.ts";
import { Tenancy } from "../access/tenancy.ts";
import type { Config } from "../config/config.ts";
import { sourcesOf } from "../detection/attack/attack-sources.ts";
import { NO_PACKETS } from "../detection/attack/outcome-rings.ts";
import type { Backend, BanView, BgpView, Dropping, StatusView } from "../http/backend.ts";
import type { NotifyTargets } from "../http/notify-targets.ts";
import { SETTLED } from "../http/wire/saved.ts";
import type { Incidents } from "../incident/incidents.ts";
import type { Item } from "../machine/item.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { BanAnswer } from "../mitigation/ban-answer.ts";
import type { FilterRules } from "../mitigation/operator/filter-rules.ts";
import type { BanOrder } from "../mitigation/order/ban-order.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Update } from "../release/update-check.ts";
import { pairName } from "../sourceblock/source-block.ts";
import type { SourceBlockView } from "../sourceblock/source-blocks.ts";
import type { FileFaultView } from "../system/file-fault.ts";
import { countStates } from "../telemetry/exporters.ts";
import type { HistoryRecorder } from "../traffic/history-recorder.ts";
import { joined, storedQuery } from "../traffic/recent-traffic.ts";
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
  readonly protections: Backend["protections"];
  readonly sharedLinks: Backend["sharedLinks"];
  readonly signIn: Backend["signIn"];
  readonly prefixSets: Backend["prefixSets"];
  readonly notifyTargets: Backend["notifyTargets"];
  readonly orders: Backend["orders"];
  readonly maintenance: Backend["maintenance"];
  readonly scrub: Backend["scrub"];
  readonly edge: Backend["edge"];
  readonly edgeHistory: Backend["edgeHistory"];
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

  isReady = (): boolean => this.ready;

  isDryRun = (): boolean => this.#floodwall.config.dryRun;

  /** Created once for each configuration. */
  tenancy(): Tenancy {
    const { config } = this.#floodwall;
    if (this.#tenancy?.of !== config) this.#tenancy = { of: config, tenancy: new Tenancy(config) };
    return this.#tenancy.tenancy;
  }

  status(tenant: Tenant): ReturnType<Backend["status"]> {
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

  attacks: Backend["attacks"] = () => attackViews(this.#floodwall);

  attack: Backend["attack"] = (id, asker) => attackView(id, this.#floodwall, { history: this.#history, asker });

  endedAttacks: Backend["endedAttacks"] = (question, asker) =>
    endedViews(question, this.#floodwall, { history: this.#history, asker });

  get incidents(): Incidents {
    return this.#floodwall.incidents;
  }

  attackSeries: Backend["attackSeries"] = (id) => this.#floodwall.detector.meters.seriesOf(this.#ownId(id));

  attackSources: Backend["attackSources"] = (id) =>
    this.#floodwall.packetPath?.sourcesOf({ id: this.#ownId(id) }) ?? sourcesOf([], { top: 0, originOf: null });

  attackPackets: Backend["attackPackets"] = (id, outcome) =>
    this.#floodwall.packetPath?.recentPacketsOf({ id: this.#ownId(id) }, outcome) ?? [];

  attackPacketCounts: Backend["attackPacketCounts"] = (id) =>
    this.#floodwall.packetPath?.recentCountsOf({ id: this.#ownId(id) }) ?? NO_PACKETS;

  traffic: Backend["traffic"] = async (question, asker) => {
    if (this.#history === null) return null;
    const recent = (await this.#recorder?.recent(question.key, question.direction)) ?? [];
    const older = storedQuery(question, recent);
    const stored = older === null ? [] : await orHistoryFault(this.#history.ask("trafficPoints", older, asker));
    return joined(stored, recent, question);
  };

  trafficTop: Backend["trafficTop"] = async (question, asker) =>
    this.#history === null ? null : orHistoryFault(this.#history.ask("trafficTop", question, asker));

  trafficPeaks: Backend["trafficPeaks"] = async (question) =>
    this.#history === null ? null : orHistoryFault(this.#history.ask("trafficPeaks", question, null));

  auditEvents: Backend["auditEvents"] = async (question, asker) => {
    if (this.#history === null) return { available: false };
    return { available: true, events: await orHistoryFault(this.#history.ask("auditEvents", question, asker)) };
  };

  hosts: Backend["hosts"] = () => this.#hosts.hosts();

  groupRates: Backend["groupRates"] = () => this.#hosts.groupRates();

  telemetry: Backend["telemetry"] = () => this.#floodwall.telemetry?.view() ?? null;

  configured: Backend["configured"] = () => {
    const { config, reloader, groupSettings } = this.#floodwall;
    return { ...config, needsRestart: reloader.needsRestart, groupSettings: groupSettings.all() };
  };

  bans: Backend["bans"] = () => ({ bans: this.#floodwall.bans.all(), viewOf: (ban) => this.#banView(ban) });

  async ban(order: BanOrder, by: Holder = ADMINISTRATOR): Promise<BanView> {
    const { bans } = this.#floodwall;
    return this.#answered(await bans.ban(order, () => this.#floodwall.now().wallMs, by));
  }

  banPreview: Backend["banPreview"] = (order, by) => {
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
  };

  bannedPrefix: Backend["bannedPrefix"] = (target) => this.#floodwall.bans.operators.inForce(target)?.prefix ?? null;

  bansPreview: Backend["bansPreview"] = (many, by) =>
    this.#floodwall.bans.operators.previewAll(many, this.#floodwall.now().wallMs, by);

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

  blockRefusal: Backend["blockRefusal"] = ({ source, victim }, by) => {
    const { sourceBlocks } = this.#floodwall;
    return source === null ? sourceBlocks.refusalOfVictim(victim, by) : sourceBlocks.refusalOf({ source, victim }, by);
  };

  blockSource: Backend["blockSource"] = (order) =>
    orKernelFault(this.#floodwall.sourceBlocks.block(order, () => this.#floodwall.now().wallMs));

  unblockSource: Backend["unblockSource"] = (pair, by) =>
    orKernelFault(this.#floodwall.sourceBlocks.unblock(pair, this.#floodwall.now().wallMs, by));

  get filterRules(): FilterRules {
    return this.#floodwall.filterRules;
  }

  filterRuleCounts: Backend["filterRuleCounts"] = () => this.#floodwall.dataPlane?.operatorCounts() ?? null;

  orderFilterRule: Backend["orderFilterRule"] = (...order) => this.#floodwall.filterRules.order(...order);

  filterRulePreview: Backend["filterRulePreview"] = (order, rule) => ({
    ...this.filterRules.preview(order, rule),
    effect: filterRuleEffect(rule, this.#floodwall),
  });

  sourceBlockPreview: Backend["sourceBlockPreview"] = (order, by) =>
    sourceBlockPreview(order, this.#floodwall, (host) => this.tenancy().owns(by, host));

  reload: Backend["reload"] = () => this.#floodwall.reload();

  setGroup: Backend["setGroup"] = (...order) => this.#floodwall.groupSettings.set(...order);

  reloadPreview: Backend["reloadPreview"] = () => this.#floodwall.reloader.preview();

  #countsOf(tenant: Tenant): Pick<StatusView, "activeAttacks" | "activeBans"> {
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
