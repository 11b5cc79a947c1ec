/**
 * The path from the wire to the judgement: the packet counter, its packet sources, and the loop that judges each tick.
 * Built once per process; a reload changes what is judged, not how it is counted.
 */
import type { Config } from "../config/config.ts";
import { Capture, type SourceView } from "../dataplane/capture.ts";
import type { CaptureConfig } from "../dataplane/capture-config.ts";
import { type FlowReadings, FlowReceivers } from "../dataplane/flow-receivers.ts";
import type { Engine, EngineStats, Filter, Native } from "../dataplane/native.d.ts";
import type { Attack, ClassifiedEvent, NewAttackId } from "../detection/attack/attack.ts";
import type { AttackSources } from "../detection/attack/attack-sources.ts";
import type { MinuteReading } from "../detection/attack/minute-sample.ts";
import type { PacketCounts } from "../detection/attack/outcome-rings.ts";
import { type ProfileKeeper, ProfileLoop } from "../detection/attack/profile-loop.ts";
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import type { SampledAttack } from "../detection/attack/sampled-attack.ts";
import { SamplingLoop } from "../detection/attack/sampling-loop.ts";
import type { BannedPrefixes } from "../detection/baseline/baseline-learner.ts";
import { Baselines } from "../detection/baseline/baselines.ts";
import { type BaselineKeeper, LearningLoop, type LearningLoopOptions } from "../detection/baseline/learning-loop.ts";
import { Detection } from "../detection/judge/detection.ts";
import { type CompletedTick, DetectionLoop } from "../detection/judge/detection-loop.ts";
import type { AttackChange, Detector } from "../detection/judge/detector.ts";
import type { WatchedOutcomes } from "../detection/judge/tick-judge.ts";
import { BASELINE_GROUPS_MAX, HOST_IDLE_MS, STOP_STEP_MS } from "../limits.ts";
import type { Log } from "../observability/log.ts";
import { ExporterFile } from "../storage/exporter-file.ts";
import { ProfileFile } from "../storage/profile-file.ts";
import { within } from "../system/deadline.ts";
import type { Now } from "../system/now.ts";
import { nextTurn, type Timers } from "../system/timers.ts";
import { ExporterMemory, rememberedBy } from "../telemetry/exporter-memory.ts";
import type { IngressOf } from "../traffic/ingress.ts";
import type { PacketOutcome } from "../traffic/packet-outcome.ts";
import type { CapturedPacket } from "../traffic/pcap-file.ts";
import { EXPORTER_FAULTS, PROFILE_FAULTS } from "./faults.ts";

interface PacketPathOptions {
  readonly native: Native;
  readonly config: Config;
  readonly capture: CaptureConfig;
  readonly detector: Detector;
  readonly newId: NewAttackId;
  /** Looks up where sources are; null: origins are not known. */
  readonly originOf: OriginOf | null;
  /** Names of exporters and their interfaces, by the numbers of sampled packets. */
  readonly ingressOf: IngressOf;
  readonly keeper: BaselineKeeper;
  /** null: a file in `state_dir`. */
  readonly profileKeeper: ProfileKeeper | null;
  /** Called once a second. */
  readonly banned: () => BannedPrefixes;
  /** The filter in the kernel while it is in force. */
  readonly filter: () => Filter | null;
  /** Absent: what becomes of packets is not known. */
  readonly outcomes?: WatchedOutcomes | undefined;
  readonly log: Log;
  readonly timers: Timers;
  readonly now: () => Now;
  readonly onChanges: (changes: readonly AttackChange[], now: Now) => void;
  /** An attack has its first sample, or a better one. */
  readonly onSampled: (attack: Attack) => void;
  /** An attack has its first classification, another one, or one based on many more packets. */
  readonly onClassified: (event: ClassifiedEvent) => void;
  readonly onSeen: (attack: Attack) => void;
  /** Attacks that were read before are read less often meanwhile. */
  readonly isBehind: () => boolean;
  readonly onTick: (tick: CompletedTick) => void;
  readonly onFault: (cause: unknown) => void;
  readonly onLearningFault: LearningLoopOptions["onFault"];
}

/** Time between two readings of what hosts receive while they are not attacked, ms. */
const PROFILE_EVERY_MS = 1000;

export class PacketPath {
  readonly engine: Engine;
  readonly detection: Detection;
  readonly #capture: Capture;
  /** null: no flow records are received. */
  readonly #flows: FlowReceivers | null;
  readonly #loop: DetectionLoop;
  readonly #sampling: SamplingLoop;
  readonly #learning: LearningLoop;
  readonly #options: PacketPathOptions;
  readonly #profiles: ProfileLoop;
  readonly #exporters: ExporterMemory | null;
  #cancelLearning: () => void = () => {};

  constructor(options: PacketPathOptions) {
    const { native, config, capture, detector, log, timers, now } = options;
    this.#options = options;
    const { windowMs, tickMs } = config.detection;
    const { maxHosts, countOutgoing } = capture;
    const fixed = { countOutgoing, clock: "monotonic", idleMs: HOST_IDLE_MS } as const;
    this.engine = native.openEngine({ maxHosts, windowMs, tickMs, ...fixed });
    const keeper = new ExporterFile(config.stateDir);
    this.#flows = this.#makeFlows(options, keeper);
    this.#exporters = this.#makeExporterMemory(options, keeper);
    this.#capture = new Capture({
      ...{ engine: this.engine, config: capture, flows: this.#flows?.slots() ?? [], log, filter: options.filter },
      every: (ms, fn) => timers.every(ms, fn),
    });
    this.detection = new Detection({
      counter: this.engine,
      detector,
      config,
      originOf: options.originOf,
      ingressOf: options.ingressOf,
      newId: options.newId,
      openPrefixSums: (capacity) => native.openPrefixSums(capacity),
      ...(options.outcomes && { outcomes: options.outcomes }),
      banned: options.banned,
      wallSeconds: () => now().wallMs / 1000,
    });
    this.#learning = this.#makeLearning(options);
    this.#profiles = this.#makeProfiles(options);
    const { onSampled, onClassified, onSeen, onTick, onFault, isBehind } = options;
    const after = (ms: number, fn: () => void) => timers.after(ms, fn);
    const { sampler, judge } = this.detection;
    const handlers = { isBehind, onSampled, onClassified, onSeen, onFault };
    this.#sampling = new SamplingLoop({ sampler, detector, after, nextTurn, now, ...handlers });
    this.#loop = new DetectionLoop({
      counter: this.engine,
      judge,
      tickMs,
      now,
      after,
      onChanges: (changes, at) => {
        options.onChanges(changes, at);
        this.#sampling.attacksChanged(changes, at);
      },
      onTick,
      onFault,
    });
  }

  start(): void {
    this.detection.judge.watchRestored();
    this.#sampling.start();
    this.#loop.start();
    this.#learning.start();
    this.#profiles.start();
    this.#cancelLearning = this.#options.timers.every(PROFILE_EVERY_MS, () => this.#learnProfiles());
    this.#capture.start();
    this.#exporters?.start();
  }

  reconfigure(config: Config, originOf: OriginOf | null): void {
    // First, since it may be refused.
    if (config.telemetry !== null) this.#flows?.setExporters(config.telemetry.exporters);
    this.#loop.reconfigured();
    this.detection.reconfigure(config, originOf);
  }

  observed(attack: Attack): SampledAttack | null {
    return this.detection.sampler.observed(attack);
  }

  /** @param outcome null: all packets. */
  recentPacketsOf(attack: Pick<Attack, "id">, outcome: PacketOutcome | null): readonly CapturedPacket[] {
    return this.detection.sampler.recentPacketsOf(attack, outcome);
  }

  recentCountsOf(attack: Pick<Attack, "id">): PacketCounts {
    return this.detection.sampler.recentCountsOf(attack);
  }

  sourcesOf(attack: Pick<Attack, "id">): AttackSources {
    return this.detection.sampler.sourcesOf(attack);
  }

  sources(): SourceView[] {
    return this.#capture.status();
  }

  /** See Detection. */
  users(): Uint8Array {
    return this.detection.users(this.#options.now().monotonicMs);
  }

  /** See Detection. */
  minute(): MinuteReading {
    return this.detection.minute(this.#options.now().monotonicMs);
  }

  /** null: no flow records are received. */
  flowReadings(): FlowReadings | null {
    if (this.#flows === null) return null;
    const errors = new Map(this.sources().map(({ name, error }) => [name, error]));
    return this.#flows.read((name) => errors.get(name) ?? null);
  }

  /** See Capture. */
  closeInline(interfaces: readonly string[]): void {
    this.#capture.closeInline(interfaces);
  }

  openSources(): void {
    this.#capture.openMissing();
  }

  stats(): EngineStats {
    return this.engine.stats();
  }

  async stop(): Promise<void> {
    this.#cancelLearning();
    await this.#loop.stop();
    await this.#learning.stop();
    await this.#sampling.stop();
    if (this.#exporters !== null) await within(this.#exporters.stop(), STOP_STEP_MS, this.#options.timers, () => {});
    this.#capture.stop();
    await within(this.#profiles.stop(), STOP_STEP_MS, this.#options.timers, () => {});
    this.engine.close();
  }

  /** Saves the baselines, after stop(), and waits for the disk within STOP_STEP_MS. */
  async saveBaselines(): Promise<void> {
    await within(this.#learning.save(), STOP_STEP_MS, this.#options.timers, () => {});
  }

  #learnProfiles(): void {
    const { now, onLearningFault } = this.#options;
    try {
      this.detection.learnProfiles(now().monotonicMs);
    } catch (cause) {
      onLearningFault("learn", cause);
    }
  }

  *#judgeCarpets({ now, onChanges }: PacketPathOptions): Generator<void> {
    const changes = yield* this.detection.carpets.judge(now());
    if (changes.length === 0) return;
    const at = now();
    onChanges(changes, at);
    this.#sampling.attacksChanged(changes, at);
  }

  #makeFlows({ config, log }: PacketPathOptions, keeper: ExporterFile): FlowReceivers | null {
    if (config.telemetry === null) return null;
    const saved = rememberedBy(keeper, (cause) => log.warn({ cause }, EXPORTER_FAULTS.load));
    return new FlowReceivers(this.engine, config.telemetry, saved);
  }

  #makeExporterMemory({ timers, log }: PacketPathOptions, keeper: ExporterFile): ExporterMemory | null {
    const flows = this.#flows;
    if (flows === null) return null;
    return new ExporterMemory({
      keeper,
      saved: () => flows.saved(),
      every: (ms, fn) => timers.every(ms, fn),
      onFault: (cause) => log.error({ cause }, EXPORTER_FAULTS.save),
    });
  }

  #makeProfiles({ config, profileKeeper, timers, log }: PacketPathOptions): ProfileLoop {
    return new ProfileLoop({
      profiles: this.detection.profiles,
      keeper: profileKeeper ?? new ProfileFile(config.stateDir),
      every: (ms, fn) => timers.every(ms, fn),
      onLoaded: (hosts) => {
        if (hosts === 0) return;
        this.detection.sampler.profilesRestored();
        log.info({ hosts }, "the profiles of an earlier process are restored");
      },
      onFault: (operation, cause) => log.error({ cause }, PROFILE_FAULTS[operation]),
    });
  }

  #makeLearning(options: PacketPathOptions): LearningLoop {
    const { detector, keeper, timers, now, log } = options;
    const started = now();
    return new LearningLoop({
      learner: this.detection.learner,
      baselines: detector.baselines,
      keeper,
      // Wall time that is not affected by clock changes.
      nowSeconds: () => (started.wallMs + now().monotonicMs - started.monotonicMs) / 1000,
      every: (ms, fn) => timers.every(ms, fn),
      nextTurn,
      onPassed: () => this.#judgeCarpets(options),
      onLoaded: (rows) => {
        if (rows > 0) log.info({ rows }, "the baselines of an earlier process are restored");
      },
      onFault: options.onLearningFault,
    });
  }
}

/** Without a capture there is nothing to learn from. */
export function makeBaselines({ config, native }: { config: Config; native: Native | null }): Baselines {
  const { capture } = config;
  if (capture === null || native === null) return new Baselines(null);
  const { maxHosts, countOutgoing } = capture;
  const directions = countOutgoing ? 2 : 1;
  return new Baselines(native.openBaselines({ capacity: maxHosts + BASELINE_GROUPS_MAX, directions }));
}
