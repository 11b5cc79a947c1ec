/**
 * The running service: attacks come from the packet path; bans and routes follow from them; operators and reloads
 * change both. Owns the configuration in force; the parts that it connects own everything else.
 */
import { haveSameOwners } from "../access/tenancy.ts";
import type { OrderEnd } from "../audit/order-end.ts";
import type { GobgpAnnouncer } from "../bgp/gobgp-announcer.ts";
import { reachChange } from "../bgp/neighbor-reach.ts";
import type { Config } from "../config/config.ts";
import type { DataPlane } from "../dataplane/data-plane.ts";
import { type Attack, type AttackEvent, endAttack } from "../detection/attack/attack.ts";
import { AttackLog } from "../detection/attack/attack-log.ts";
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import type { AttackChange, Detector } from "../detection/judge/detector.ts";
import { detectionPolicy } from "../detection/judge/policy.ts";
import type { Diversions } from "../divert/diversions.ts";
import { openOrigins } from "../geo/origins.ts";
import type { ReloadOutcome } from "../http/reload-views.ts";
import type { Incidents } from "../incident/incidents.ts";
import { ENDED_ATTACKS_KEPT } from "../limits.ts";
import { disallowedBy } from "../mitigation/admission.ts";
import type { AnnouncementTimer } from "../mitigation/announcement-timer.ts";
import { type BanChange, wantedRoutes } from "../mitigation/ban.ts";
import type { BanEngine } from "../mitigation/ban-engine.ts";
import type { MaintenanceWindows } from "../mitigation/maintenance/maintenance-windows.ts";
import type { FilterRules } from "../mitigation/operator/filter-rules.ts";
import { mitigationPolicy } from "../mitigation/policy.ts";
import type { Protections } from "../mitigation/protection/protections.ts";
import type { WantedChanges } from "../mitigation/wanted-changes.ts";
import { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { ScrubNodes } from "../scrub/scrub-nodes.ts";
import { sourceBlockPolicy } from "../sourceblock/policy.ts";
import type { SourceBlocks } from "../sourceblock/source-blocks.ts";
import type { StateStore } from "../storage/state-store.ts";
import type { Now } from "../system/now.ts";
import type { RecordTable } from "../system/record-table.ts";
import { endGobgpdLeftBehind } from "./announcer.ts";
import { type AttackIds, OWN_IDS } from "./attack-ids.ts";
import type { AttackTimelines } from "./attack-timelines.ts";
import { ConfigReader } from "./config-reader.ts";
import { alertAtCap, countAttack, countRung, logAttack, logBan } from "./event-log.ts";
import { filterRulesPolicy } from "./filter-rules.ts";
import type { FloodwallOptions } from "./floodwall-options.ts";
import { GroupSettingsStore } from "./group-settings.ts";
import { hookChanges } from "./hook-changes.ts";
import { Late } from "./late.ts";
import { Listeners } from "./listeners.ts";
import type { OnOrders, OrderedChange } from "./order-changes.ts";
import type { PacketPath } from "./packet-path.ts";
import { buildParts, type Later, type Parts } from "./parts.ts";
import { Reloader } from "./reloader.ts";
import { watchRises } from "./rise-watch.ts";
import type { RuleFinder } from "./rule-finder.ts";
import { fillMetrics } from "./scrape.ts";
import type { TelemetryWatch } from "./telemetry.ts";

/** How often bans and source blocks are checked for expiry, ms. */
const BAN_TICK_MS = 250;

export class Floodwall implements Parts {
  readonly detector: Detector;
  readonly attackLog = new AttackLog(ENDED_ATTACKS_KEPT);
  readonly bans: BanEngine;
  readonly diversions: Diversions;
  readonly rules: RuleFinder;
  readonly timelines: AttackTimelines;
  readonly incidents: Incidents;
  readonly announcements: AnnouncementTimer;
  readonly sourceBlocks: SourceBlocks;
  readonly orders: Parts["orders"];
  readonly filterRules: FilterRules;
  readonly maintenance: MaintenanceWindows;
  readonly scrub: ScrubNodes;
  readonly protections: Protections;
  readonly dataPlane: DataPlane | null;
  readonly announcer: GobgpAnnouncer | null;
  readonly packetPath: PacketPath | null;
  readonly telemetry: TelemetryWatch | null;
  readonly now: () => Now;
  readonly state: StateStore;
  readonly startedMs: number;
  readonly attackIds: AttackIds;
  config: Config;
  readonly #options: FloodwallOptions;
  readonly #limiter: Limiter;
  /** An active attack must survive, so that its ban ends with it. */
  readonly #storedAttacks: RecordTable<Attack>;
  readonly #attackEvents: Listeners<AttackEvent>;
  readonly #banChanges: Listeners<BanChange>;
  readonly #orderEnds: Listeners<readonly OrderEnd[]>;
  readonly #orderChanges: Listeners<readonly OrderedChange[]>;
  readonly #reloads: Listeners<Config>;
  readonly #ticks: Listeners<void>;
  /** Stopped first when the service stops, so that callers waiting for a reload are answered. */
  readonly reloader: Reloader<OriginOf | null>;
  readonly groupSettings: GroupSettingsStore;
  #cancelBanTick: () => void = () => {};
  #endRiseWatch: () => void = () => {};

  constructor(options: FloodwallOptions) {
    const { config, configPath, state, log, metrics, clock, timers } = options;
    this.#options = options;
    this.config = config;
    this.state = state;
    this.attackIds = options.attackIds ?? OWN_IDS;
    this.startedMs = clock.monotonicMs();
    const limiter = new Limiter(clock);
    this.#limiter = limiter;
    this.#attackEvents = listeners({ limiter, log });
    this.#banChanges = listeners({ limiter, log });
    this.#orderEnds = listeners({ limiter, log });
    this.#orderChanges = listeners({ limiter, log });
    this.#reloads = listeners({ limiter, log });
    this.#ticks = listeners({ limiter, log });
    this.#storedAttacks = state.table("attacks");
    state.onFault((cause) => this.#stateWriteFailed(cause));
    const later = new Late<Later>("the parts of the service");
    const parts = buildParts({ options, limiter, later });
    this.detector = parts.detector;
    this.bans = parts.bans;
    this.diversions = parts.diversions;
    this.rules = parts.rules;
    this.timelines = parts.timelines;
    this.incidents = parts.incidents;
    this.announcements = parts.announcements;
    this.sourceBlocks = parts.sourceBlocks;
    this.orders = parts.orders;
    this.filterRules = parts.filterRules;
    this.maintenance = parts.maintenance;
    this.scrub = parts.scrub;
    this.protections = parts.protections;
    this.dataPlane = parts.dataPlane;
    this.announcer = parts.announcer;
    this.packetPath = parts.packetPath;
    this.telemetry = parts.telemetry;
    this.now = parts.now;
    later.bind({
      ...parts,
      config: () => this.config,
      windowsChanged: () => this.#windowsChanged(),
      protectionChanged: () => this.#protectionChanged(),
      banChanged: (change) => this.#banChanges.emit(change),
      ordersEnded: (ends) => this.#orderEnds.emit(ends),
      ordersChanged: (changes) => this.#orderChanges.emit(changes),
      attacksChanged: (changes, now) => this.#attacksChanged(changes, now),
      attackHappened: (event, now) => this.#attackHappened(event, now),
      ticked: () => this.#ticks.emit(),
    });
    this.reloader = new Reloader({
      configPath,
      settings: () => this.groupSettings.path,
      reader: new ConfigReader(timers),
      warned: options.warned ?? [],
      log,
      running: () => this.config,
      endedBy: (next) => disallowedBy(mitigationPolicy(next, this.protections), this.bans.active.values()),
      open: options.openReload ?? ((next) => openOrigins(next.samples)),
      wantedUnder: (next) =>
        this.#hookedUnder(
          next,
          this.bans.changesUnder(
            mitigationPolicy(next, this.protections, this.maintenance.under(next.maintenance)),
            this.now().wallMs,
            reachChange(this.config.bgp, next.bgp),
          ),
        ),
      apply: (next, originOf) => this.#apply(next, originOf),
    });
    this.groupSettings = new GroupSettingsStore({
      ...{ stateDir: this.config.stateDir, reload: () => this.reload(), wallMs: () => clock.wallMs() },
    });
    metrics.beforeScrape(() => fillMetrics(metrics, this));
    this.#listen(options);
  }

  #hookedUnder({ diversionHook: after }: Config, changes: WantedChanges): WantedChanges {
    const running = this.diversions.views();
    return {
      ...changes,
      diversions: hookChanges(changes.diversions, { running, before: this.config.diversionHook, after }),
    };
  }

  #listen({ log, metrics, clock }: FloodwallOptions): void {
    this.onAttackEvent((event) => this.#keepAttack(event));
    this.onAttackEvent((event) => logAttack(log, event));
    this.onAttackEvent((event) => countAttack(metrics.detection, event));
    this.onBanChange((change) => logBan(log, change));
    this.onBanChange((change) => countRung(metrics.mitigation, change));
    this.onBanChange((change) => this.timelines.banChanged(change, clock.wallMs()));
    this.onBanChange((change) => alertAtCap({ log, limiter: this.#limiter, metrics: metrics.mitigation }, change));
    this.onBanChange(({ ban }) => this.scrub.banChanged(ban));
    this.onBanChange((change) => this.dataPlane?.banChanged(change));
  }

  /** Listeners are added before start(), so that they miss nothing. A listener must return quickly. */
  onAttackEvent(listener: (event: AttackEvent) => void): void {
    this.#attackEvents.add(listener);
  }

  onOrderEnds(listener: (ends: readonly OrderEnd[]) => void): void {
    this.#orderEnds.add(listener);
  }

  onOrders(listener: OnOrders): void {
    this.#orderChanges.add(listener);
  }

  onBanChange(listener: (change: BanChange) => void): void {
    this.#banChanges.add(listener);
  }

  /** Called after each tick that was judged. */
  onTick(listener: () => void): void {
    this.#ticks.add(listener);
  }

  /** Called with the new configuration once all parts use it. */
  onReloaded(listener: (config: Config) => void): void {
    this.#reloads.add(listener);
  }

  /** Restores what an earlier process left, then starts to count, judge and announce. */
  start(): void {
    const { state, timers, clock, log, hasRuleThread = false } = this.#options;
    const { attacks, bans, source_blocks: blocks, protections, incidents } = state.stored;
    const isWatched = this.packetPath !== null;
    if (isWatched && hasRuleThread) this.rules.start();
    if (isWatched) this.detector.restore(attacks);
    this.timelines.restore(attacks);
    this.incidents.restore(incidents, attacks);
    this.protections.restore(protections);
    for (const ban of bans) this.scrub.banChanged(ban);
    this.bans.restore({ bans, attacks: isWatched ? attacks : null }, clock.wallMs());
    if (!isWatched) this.#endUnwatched(attacks);
    this.sourceBlocks.restore(blocks, clock.wallMs());
    const taken = {
      attacks: this.detector.active.size,
      bans: this.bans.active.size,
      source_blocks: this.sourceBlocks.size,
      protections: protections.length,
      incidents: incidents.length,
    };
    if (Object.values(taken).some((count) => count > 0)) log.info(taken, "restored from the state database");
    if (this.config.bgp?.speaker !== "managed") void endGobgpdLeftBehind(this.config, { timers, log });
    this.announcer?.onChange(() => this.announcements.routesChanged(this.#options.clock.monotonicMs()));
    this.announcer?.onChange(() => this.timelines.routesChanged(clock.wallMs()));
    this.announcer?.start();
    this.diversions.start();
    this.dataPlane?.start();
    this.packetPath?.start();
    this.telemetry?.start();
    if (this.packetPath === null) log.warn({}, "no capture is configured: control plane only, no attack detection");
    this.#endRiseWatch = watchRises(timers, {
      detector: this.detector,
      hostgroups: () => this.config.hostgroups,
      monotonicMs: () => clock.monotonicMs(),
      log,
    });
    this.#judgeByWindows();
    this.#cancelBanTick = timers.every(BAN_TICK_MS, () => {
      const { wallMs } = this.now();
      this.scrub.tick();
      this.announcer?.tick();
      for (const owner of this.orders) owner.tick(wallMs);
      this.timelines.routesChanged(wallMs);
      this.incidents.tick();
    });
  }

  /** Without a capture these attacks would never end. Their bans stay until they expire. */
  #endUnwatched(attacks: readonly Attack[]): void {
    const { log } = this.#options;
    if (attacks.length === 0) return;
    const now = this.now();
    for (const attack of attacks) this.#attackHappened({ kind: "ended", attack: endAttack(attack, now.wallMs) }, now);
    log.warn({ attacks: attacks.length }, "no capture is configured: attacks are ended, their bans run until expiry");
  }

  /**
   * Bans stay in force: a managed speaker keeps their routes, and the next start restores them. @param lastly what still
   * writes state: it is closed after that.
   */
  async stop(lastly: () => Promise<void> = async () => {}): Promise<void> {
    this.reloader.stop();
    this.#cancelBanTick();
    this.#endRiseWatch();
    this.telemetry?.stop();
    await this.packetPath?.stop();
    this.rules.stop();
    this.diversions.stop();
    this.dataPlane?.stop();
    for (const attack of this.detector.active.values()) this.#keepAttack({ kind: "sampled", attack });
    this.incidents.save();
    const withdraw = ![...this.bans.active.values()].some((ban) => wantedRoutes(ban).length > 0);
    const stateStopped = lastly().then(() => this.state.stop());
    await Promise.all([this.announcer?.stop({ withdraw }), stateStopped, this.packetPath?.saveBaselines()]);
  }

  /** Reads the configuration file again and puts it in force; an invalid file changes nothing. */
  reload(): Promise<ReloadOutcome> {
    return this.reloader.reload();
  }

  /** Rows, groups and thresholds belong together: all parts change in one step. */
  #apply(next: Config, originOf: OriginOf | null): void {
    const before = this.config;
    // The packet counter first: if it refuses, nothing else has changed.
    this.packetPath?.reconfigure(next, originOf);
    this.config = next;
    this.telemetry?.reconfigure(next);
    this.detector.reconfigure(detectionPolicy(next));
    this.scrub.reconfigure(next.scrubbing);
    this.protections.reconfigure(next);
    // Before the bans, which are judged by the windows of the same configuration.
    this.maintenance.reconfigure(next.maintenance);
    this.bans.reconfigure(mitigationPolicy(next, this.protections, this.maintenance), this.now().wallMs);
    this.sourceBlocks.reconfigure(sourceBlockPolicy(next), this.now().wallMs);
    this.filterRules.reconfigure(filterRulesPolicy(next));
    this.#options.prefixSets?.apply();
    this.dataPlane?.reconfigure(next);
    if (next.bgp !== null) this.announcer?.reload(next.bgp);
    // It asks for the owner of each victim of each incident.
    if (!haveSameOwners(before, next)) this.incidents.reconfigured();
    this.#reloads.emit(next);
  }

  #attacksChanged(changes: readonly AttackChange[], now: Now): void {
    this.announcements.attacksChanged(changes, now.monotonicMs);
    for (const { kind, attack } of changes) if (kind === "started") this.timelines.detected(attack);
    this.bans.attacksChanged(changes, now.wallMs);
    for (const change of changes) this.#attackHappened(change, now);
  }

  #attackHappened(event: AttackEvent, { wallMs }: Now): void {
    this.#attackEvents.emit(this.incidents.recorded(this.timelines.recorded(event, wallMs)));
  }

  #keepAttack({ kind, attack }: AttackEvent): void {
    if (kind === "lasts") return;
    if (kind === "ended") this.attackLog.add(attack);
    this.#storedAttacks.queue(
      attack.id,
      attack.endedAt === null ? this.incidents.stamped(this.timelines.filled(attack)) : null,
    );
  }

  /** The policies ask for the open windows: bans follow at once, and new attacks are judged by them. */
  #windowsChanged(): void {
    this.#judgeByWindows();
    this.bans.reconfigure(mitigationPolicy(this.config, this.protections, this.maintenance), this.now().wallMs);
  }

  #judgeByWindows(): void {
    const { maintenance } = this;
    this.detector.raised.factorOf = maintenance.openCount === 0 ? null : (of) => maintenance.thresholdFactor(of);
  }

  #protectionChanged(): void {
    this.bans.tick(this.now().wallMs);
    this.dataPlane?.protectionChanged();
  }

  #stateWriteFailed(cause: unknown): void {
    const { log, metrics } = this.#options;
    metrics.mitigation.stateWriteFailed();
    this.#limiter.pass("state", (suppressed) =>
      log.error(
        { cause, suppressed },
        "the state database takes no writes: automatic bans work but would not survive a restart; orders that begin something are refused",
      ),
    );
  }
}

function listeners<Event>({ limiter, log }: { readonly limiter: Limiter; readonly log: Log }): Listeners<Event> {
  return new Listeners<Event>((cause) =>
    limiter.pass("listener", (suppressed) =>
      log.error({ cause, suppressed }, "a listener for changes failed; the others were called"),
    ),
  );
}
