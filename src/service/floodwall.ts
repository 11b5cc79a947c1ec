/**
 * The running service: attacks come from the packet path; bans and routes follow from them; operators and reloads
 * change both. Owns the configuration in force; the parts that it connects own everything else.
 */
import { randomUUIDv7 } from "bun";
import type { GobgpAnnouncer } from "../bgp/gobgp-announcer.ts";
import { endManagedGobgpd } from "../bgp/speaker/managed-speaker.ts";
import type { Config } from "../config/config.ts";
import type { DataPlane } from "../dataplane/data-plane.ts";
import { type Attack, type AttackEvent, endAttack } from "../detection/attack/attack.ts";
import { AttackLog } from "../detection/attack/attack-log.ts";
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import { type AttackChange, Detector } from "../detection/judge/detector.ts";
import { detectionPolicy } from "../detection/judge/policy.ts";
import { openOrigins } from "../geo/origins.ts";
import type { ReloadOutcome } from "../http/backend.ts";
import { ENDED_ATTACKS_KEPT, ENDED_BANS_KEPT } from "../limits.ts";
import { AnnouncementTimer } from "../mitigation/announcement-timer.ts";
import { type BanChange, wantedRoutes } from "../mitigation/ban.ts";
import { BanEngine } from "../mitigation/ban-engine.ts";
import { bannedPrefixes } from "../mitigation/banned-prefixes.ts";
import type { FilterRules } from "../mitigation/operator/filter-rules.ts";
import { mitigationPolicy } from "../mitigation/policy.ts";
import type { Protections } from "../mitigation/protection/protections.ts";
import { Limiter } from "../observability/limiter.ts";
import type { ScrubNodes } from "../scrub/scrub-nodes.ts";
import { sourceBlockPolicy } from "../sourceblock/policy.ts";
import type { SourceBlocks } from "../sourceblock/source-blocks.ts";
import { BaselineFile } from "../storage/baseline-file.ts";
import type { StateStore } from "../storage/state-store.ts";
import { ClockSteps } from "../system/clock-steps.ts";
import type { Now } from "../system/now.ts";
import type { RecordTable } from "../system/record-table.ts";
import { openAnnouncer } from "./announcer.ts";
import { AttackTimelines } from "./attack-timelines.ts";
import { ConfigReader } from "./config-reader.ts";
import { droppedOf, openDataPlane } from "./dataplane.ts";
import { alertAtCap, countAttack, countRung, logAttack, logBan } from "./event-log.ts";
import { faultingTable, LEARNING_FAULTS } from "./faults.ts";
import { filterRulesPolicy, openFilterRules } from "./filter-rules.ts";
import type { FloodwallOptions } from "./floodwall-options.ts";
import { kernelSlots } from "./kernel-slots.ts";
import { Listeners } from "./listeners.ts";
import { makeBaselines, PacketPath } from "./packet-path.ts";
import { openProtections } from "./protection.ts";
import { Reloader } from "./reloader.ts";
import { watchRises } from "./rise-watch.ts";
import { type OnFound, openRuleFinder, type RuleFinder } from "./rule-finder.ts";
import { fillMetrics } from "./scrape.ts";
import { openScrubNodes, scrubCircumstances } from "./scrub.ts";
import { openSourceBlocks } from "./sourceblock.ts";
import { TelemetryWatch } from "./telemetry.ts";

/** How often bans and source blocks are checked for expiry, ms. */
const BAN_TICK_MS = 250;

export class Floodwall {
  readonly detector: Detector;
  readonly attackLog = new AttackLog(ENDED_ATTACKS_KEPT);
  readonly bans: BanEngine;
  readonly rules: RuleFinder;
  readonly timelines: AttackTimelines;
  readonly sourceBlocks: SourceBlocks;
  readonly filterRules: FilterRules;
  readonly scrub: ScrubNodes;
  readonly protections: Protections;
  /** null: none is configured. */
  readonly dataPlane: DataPlane | null;
  readonly announcer: GobgpAnnouncer | null;
  readonly packetPath: PacketPath | null;
  /** null: no flow telemetry is configured. */
  readonly telemetry: TelemetryWatch | null;
  readonly state: StateStore;
  readonly startedMs: number;
  config: Config;
  readonly #options: FloodwallOptions;
  readonly #limiter: Limiter;
  readonly #clockSteps: ClockSteps;
  /** An active attack must survive, so that its ban ends with it. */
  readonly #storedAttacks: RecordTable<Attack>;
  readonly #announcements: AnnouncementTimer;
  readonly #attackEvents = this.#listeners<AttackEvent>();
  readonly #banChanges = this.#listeners<BanChange>();
  readonly #reloads = this.#listeners<Config>();
  readonly #ticks = this.#listeners<void>();
  /** Stopped first when the service stops, so that callers waiting for a reload are answered. */
  readonly reloader: Reloader<OriginOf | null>;
  #cancelBanTick: () => void = () => {};
  #endRiseWatch: () => void = () => {};

  constructor(options: FloodwallOptions) {
    const { config, configPath, state, log, metrics, clock, timers } = options;
    this.#options = options;
    this.config = config;
    this.state = state;
    this.startedMs = clock.monotonicMs();
    this.#limiter = new Limiter(clock);
    this.#clockSteps = new ClockSteps(clock);
    state.onFault((cause) => this.#stateWriteFailed(cause));
    this.announcer = openAnnouncer({ ...options, bans: () => this.bans.active.values() });
    this.detector = new Detector(detectionPolicy(config), randomUUIDv7, makeBaselines(options), (attack) =>
      droppedOf(attack, this),
    );
    this.scrub = openScrubNodes({ ...options, present: () => this.config, attacks: () => this.detector.active });
    const slots = kernelSlots(this);
    const onChange = () => this.#protectionChanged();
    this.protections = openProtections({ ...options, ...slots.ofChoices, onChange });
    const onFound: OnFound = (answers) => this.bans.rulesFound(answers, this.now().wallMs);
    this.rules = openRuleFinder({ ...options, limiter: this.#limiter, onFound });
    this.bans = new BanEngine({
      policy: mitigationPolicy(config, this.protections),
      store: faultingTable(state.table("bans")),
      announcer: this.announcer,
      observed: (attack) => this.packetPath?.observed(attack) ?? null,
      makeRules: this.rules.make,
      overThresholdMs: ({ id }, wallMs) => this.detector.meters.overThresholdMs(id, wallMs),
      isHere: (ban) => this.dataPlane?.isInForce(ban) ?? true,
      ...scrubCircumstances(this.scrub),
      newId: randomUUIDv7,
      endedKept: ENDED_BANS_KEPT,
      onChange: (ban, previous) => this.#banChanges.emit({ ban, previous }),
      onFault: (cause) =>
        this.#limiter.pass("ban", (suppressed) => log.error({ cause, suppressed }, "a ban could not be updated")),
    });
    this.timelines = new AttackTimelines(this.bans);
    this.filterRules = openFilterRules({ config, log, metrics, state, onChange: () => this.dataPlane?.rulesChanged() });
    this.dataPlane = openDataPlane({
      ...options,
      filterRules: () => this.filterRules.inForce(),
      limiter: this.#limiter,
      bans: () => this.bans.active.values(),
      chosen: () => this.protections.active,
      pairs: () => this.sourceBlocks.size,
      putPairs: () => this.sourceBlocks.onKernelUp(),
      closeSources: (interfaces) => this.packetPath?.closeInline(interfaces),
      openSources: () => this.packetPath?.openSources(),
    });
    this.sourceBlocks = openSourceBlocks({
      ...{ config, log, limiter: this.#limiter, metrics: metrics.sourceBlocks },
      ...{ store: faultingTable(state.table("source_blocks")), installer: this.dataPlane, slots: slots.shares },
      filterRuleSlots: () => this.filterRules.places,
    });
    this.#storedAttacks = state.table("attacks");
    this.#announcements = new AnnouncementTimer(this.bans, (elapsedMs) =>
      metrics.mitigation.announcedAfterDetection(elapsedMs / 1000),
    );
    this.packetPath = this.#makePacketPath();
    this.telemetry = this.#makeTelemetry();
    this.reloader = new Reloader({
      configPath,
      reader: new ConfigReader(timers),
      log,
      running: () => this.config,
      open: options.openReload ?? ((next) => openOrigins(next.samples)),
      apply: (next, originOf) => this.#apply(next, originOf),
    });
    metrics.beforeScrape(() => fillMetrics(metrics, this));
    this.#listen(options);
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
    const { attacks, bans, source_blocks: blocks, protections } = state.stored;
    const isWatched = this.packetPath !== null;
    if (isWatched && hasRuleThread) this.rules.start();
    if (isWatched) this.detector.restore(attacks);
    this.timelines.restore(attacks);
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
    };
    if (Object.values(taken).some((count) => count > 0)) log.info(taken, "restored from the state database");
    if (this.config.bgp?.speaker !== "managed") void this.#endGobgpdLeftBehind();
    this.announcer?.onChange(() => this.#announcements.routesChanged(this.#options.clock.monotonicMs()));
    this.announcer?.onChange(() => this.timelines.routesChanged(clock.wallMs()));
    this.announcer?.start();
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
    this.#cancelBanTick = timers.every(BAN_TICK_MS, () => {
      const { wallMs } = this.now();
      this.scrub.tick();
      this.bans.tick(wallMs);
      this.sourceBlocks.tick(wallMs);
      this.filterRules.tick(wallMs);
      this.timelines.routesChanged(wallMs);
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

  /** Bans stay in force: a managed speaker keeps their routes, and the next start restores them. */
  async stop(): Promise<void> {
    this.reloader.stop();
    this.#cancelBanTick();
    this.#endRiseWatch();
    this.telemetry?.stop();
    await this.packetPath?.stop();
    this.rules.stop();
    this.dataPlane?.stop();
    for (const attack of this.detector.active.values()) this.#keepAttack({ kind: "sampled", attack });
    const withdraw = ![...this.bans.active.values()].some((ban) => wantedRoutes(ban).length > 0);
    await Promise.all([this.announcer?.stop({ withdraw }), this.state.stop(), this.packetPath?.saveBaselines()]);
  }

  /** Reads the configuration file again and puts it in force; an invalid file changes nothing. */
  reload(): Promise<ReloadOutcome> {
    return this.reloader.reload();
  }

  /** Rows, groups and thresholds belong together: all parts change in one step. */
  #apply(next: Config, originOf: OriginOf | null): void {
    // The packet counter first: if it refuses, nothing else has changed.
    this.packetPath?.reconfigure(next, originOf);
    this.config = next;
    this.telemetry?.reconfigure(next);
    this.detector.reconfigure(detectionPolicy(next));
    this.scrub.reconfigure(next.scrubbing);
    this.protections.reconfigure(next);
    this.bans.reconfigure(mitigationPolicy(next, this.protections), this.now().wallMs);
    this.sourceBlocks.reconfigure(sourceBlockPolicy(next), this.now().wallMs);
    this.filterRules.reconfigure(filterRulesPolicy(next));
    this.#options.prefixSets?.apply();
    this.dataPlane?.reconfigure(next);
    if (next.bgp !== null) this.announcer?.reload(next.bgp);
    this.#reloads.emit(next);
  }

  /** Stops the gobgpd of an earlier configuration, whose routes no one would withdraw any more. */
  async #endGobgpdLeftBehind(): Promise<void> {
    const { timers, log } = this.#options;
    try {
      const pid = await endManagedGobgpd({ stateDir: this.config.stateDir, timers });
      if (pid !== null) log.warn({ pid }, "bgp.speaker is not managed any more: the gobgpd left running was ended");
    } catch (cause) {
      log.error({ cause }, "the gobgpd left running cannot be ended: its routes stay announced");
    }
  }

  /** A change of the wall clock must neither end bans early nor extend them by days: their expiry moves with it. */
  now(): Now {
    const { clock, log } = this.#options;
    const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    const stepMs = this.#clockSteps.take();
    if (stepMs !== 0) {
      log.warn({ step_ms: Math.round(stepMs) }, "the wall clock was set: expiries of bans move with it");
      this.bans.clockStepped(stepMs, now.wallMs);
      this.sourceBlocks.clockStepped(stepMs);
      this.filterRules.clockStepped(stepMs);
    }
    return now;
  }

  #makePacketPath(): PacketPath | null {
    const { native, log, timers, metrics, baselineKeeper, profileKeeper = null } = this.#options;
    const { capture } = this.config;
    if (native === null || capture === null) return null;
    return new PacketPath({
      native,
      config: this.config,
      capture,
      detector: this.detector,
      newId: randomUUIDv7,
      originOf: this.#options.originOf ?? null,
      ingressOf: (key) => this.telemetry?.ingressOf(key) ?? null,
      keeper: baselineKeeper ?? new BaselineFile(this.config.stateDir),
      banned: () => bannedPrefixes(this.bans.active.values()),
      filter: () => this.dataPlane?.filter ?? null,
      outcomes: this.dataPlane?.outcomes,
      ...{ log, timers, profileKeeper },
      now: () => this.now(),
      onChanges: (changes, now) => this.#attacksChanged(changes, now),
      onSampled: (attack) => this.#attackHappened({ kind: "sampled", attack }, this.now()),
      onClassified: (event) => {
        this.bans.attackClassified(event.attack, this.now().wallMs);
        this.#attackHappened(event, this.now());
      },
      onSeen: (attack) => this.bans.attackClassified(attack, this.now().wallMs, "newer"),
      onTick: ({ summary, busyMs, isStale }) => {
        const { foldMicros, screened: screenedRows } = summary;
        metrics.detection.tick({ foldSeconds: foldMicros / 1e6, busySeconds: busyMs / 1000, screenedRows });
        if (!isStale) this.#ticks.emit();
      },
      onFault: (cause) => {
        metrics.detection.tickFailed();
        this.#limiter.pass("tick", (suppressed) => log.error({ cause, suppressed }, "a detection tick failed"));
      },
      onLearningFault: (operation, cause) => {
        metrics.baselines.failed(operation);
        this.#limiter.pass(`baselines ${operation}`, (suppressed) =>
          log.error({ cause, suppressed }, LEARNING_FAULTS[operation]),
        );
      },
    });
  }

  #makeTelemetry(): TelemetryWatch | null {
    const { packetPath, config } = this;
    if (packetPath === null || config.telemetry === null) return null;
    return new TelemetryWatch({
      ...this.#options,
      config: config.telemetry,
      read: () => packetPath.flowReadings() ?? { listeners: [], exporters: [] },
      ...{ limiter: this.#limiter, metrics: this.#options.metrics.telemetry },
    });
  }

  #attacksChanged(changes: readonly AttackChange[], now: Now): void {
    this.#announcements.attacksChanged(changes, now.monotonicMs);
    for (const { kind, attack } of changes) if (kind === "started") this.timelines.detected(attack);
    this.bans.attacksChanged(changes, now.wallMs);
    for (const change of changes) this.#attackHappened(change, now);
  }

  #attackHappened(event: AttackEvent, { wallMs }: Now): void {
    this.#attackEvents.emit(this.timelines.recorded(event, wallMs));
  }

  #keepAttack({ kind, attack }: AttackEvent): void {
    if (kind === "lasts") return;
    if (kind === "ended") this.attackLog.add(attack);
    this.#storedAttacks.queue(attack.id, attack.endedAt === null ? this.timelines.filled(attack) : null);
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

  #listeners<Event>(): Listeners<Event> {
    return new Listeners<Event>((cause) =>
      this.#limiter.pass("listener", (suppressed) =>
        this.#options.log.error({ cause, suppressed }, "a listener for changes failed; the others were called"),
      ),
    );
  }
}
