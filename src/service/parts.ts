/**
 * Builds the parts of the running service. Each is made by a function that is given the parts that exist already, so
 * that the compiler checks the order in buildParts(). What parts call of those after them goes through `later`, which is
 * bound when all of them are built.
 */
import { randomUUIDv7 } from "bun";
import type { OrderEnd } from "../audit/order-end.ts";
import type { GobgpAnnouncer } from "../bgp/gobgp-announcer.ts";
import type { Config } from "../config/config.ts";
import type { DataPlane } from "../dataplane/data-plane.ts";
import type { AttackEvent, NewAttackId } from "../detection/attack/attack.ts";
import { type AttackChange, Detector } from "../detection/judge/detector.ts";
import { detectionPolicy } from "../detection/judge/policy.ts";
import type { Diversions } from "../divert/diversions.ts";
import type { Incidents } from "../incident/incidents.ts";
import { ENDED_BANS_KEPT } from "../limits.ts";
import { AnnouncementTimer } from "../mitigation/announcement-timer.ts";
import type { BanChange } from "../mitigation/ban.ts";
import { BanEngine } from "../mitigation/ban-engine.ts";
import { bannedPrefixes } from "../mitigation/banned-prefixes.ts";
import { NO_NEIGHBOR_RULES } from "../mitigation/circumstances.ts";
import type { MaintenanceWindows } from "../mitigation/maintenance/maintenance-windows.ts";
import type { FilterRules } from "../mitigation/operator/filter-rules.ts";
import { mitigationPolicy } from "../mitigation/policy.ts";
import type { Protections } from "../mitigation/protection/protections.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { ScrubNodes } from "../scrub/scrub-nodes.ts";
import type { SourceBlocks } from "../sourceblock/source-blocks.ts";
import { BaselineFile } from "../storage/baseline-file.ts";
import { ClockSteps } from "../system/clock-steps.ts";
import type { Now } from "../system/now.ts";
import { openAnnouncer } from "./announcer.ts";
import { OWN_IDS } from "./attack-ids.ts";
import { AttackTimelines } from "./attack-timelines.ts";
import { droppedOf, openDataPlane } from "./dataplane.ts";
import { openDiversions } from "./diversions.ts";
import { faultingTable, LEARNING_FAULTS } from "./faults.ts";
import { openFilterRules } from "./filter-rules.ts";
import type { FloodwallOptions } from "./floodwall-options.ts";
import { openIncidents } from "./incidents.ts";
import { type KernelSlots, kernelSlots } from "./kernel-slots.ts";
import type { Late } from "./late.ts";
import { openMaintenance } from "./maintenance.ts";
import type { OrderedChange } from "./order-changes.ts";
import { blocksEnded, rulesEnded } from "./order-ends.ts";
import { makeBaselines, PacketPath } from "./packet-path.ts";
import { openProtections } from "./protection.ts";
import { openRuleFinder, type RuleFinder } from "./rule-finder.ts";
import { openScrubNodes, scrubCircumstances } from "./scrub.ts";
import { openSourceBlocks } from "./sourceblock.ts";
import { TelemetryWatch } from "./telemetry.ts";
import { type TimedOrders, timedOrders } from "./timed-orders.ts";

export interface Parts {
  /** null: none is configured. */
  readonly announcer: GobgpAnnouncer | null;
  readonly detector: Detector;
  readonly scrub: ScrubNodes;
  readonly protections: Protections;
  readonly rules: RuleFinder;
  readonly bans: BanEngine;
  readonly diversions: Diversions;
  readonly maintenance: MaintenanceWindows;
  readonly timelines: AttackTimelines;
  readonly incidents: Incidents;
  readonly announcements: AnnouncementTimer;
  readonly filterRules: FilterRules;
  /** null: none is configured. */
  readonly dataPlane: DataPlane | null;
  readonly sourceBlocks: SourceBlocks;
  /** All that end by the clock, as they tick. */
  readonly orders: readonly TimedOrders[];
  /** A change of the wall clock must neither end bans early nor extend them by days: their expiry moves with it. */
  readonly now: () => Now;
  /** null: no capture is configured. */
  readonly packetPath: PacketPath | null;
  /** null: no flow telemetry is configured. */
  readonly telemetry: TelemetryWatch | null;
}

/** The parts that others call while the service runs. */
export interface Later extends Pick<Parts, "bans" | "dataPlane" | "sourceBlocks" | "now" | "packetPath" | "telemetry"> {
  /** The configuration in force. */
  readonly config: () => Config;
  readonly protectionChanged: () => void;
  readonly banChanged: (change: BanChange) => void;
  readonly windowsChanged: () => void;
  readonly ordersEnded: (ends: readonly OrderEnd[]) => void;
  readonly ordersChanged: (changes: readonly OrderedChange[]) => void;
  /** All changes of one tick. */
  readonly attacksChanged: (changes: readonly AttackChange[], now: Now) => void;
  readonly attackHappened: (event: AttackEvent, now: Now) => void;
  /** A tick was judged. */
  readonly ticked: () => void;
}

interface Given {
  readonly options: FloodwallOptions;
  readonly limiter: Limiter;
  readonly later: Late<Later>;
}
type Made<Names extends keyof Parts> = Pick<Parts, Names>;

/** No callback is written here: in one, the compiler would not see that a part is not built yet. */
export function buildParts(given: Given): Parts {
  const slots = makeSlots(given);
  const announcer = makeAnnouncer(given);
  const detector = makeDetector(given);
  const scrub = makeScrub(given, { detector });
  const protections = makeProtections(given, slots);
  const maintenance = makeMaintenance(given);
  const rules = makeRules(given);
  const diversions = makeDiversions(given);
  const bans = makeBans(given, { announcer, detector, scrub, protections, rules, maintenance, diversions });
  const timelines = new AttackTimelines(bans);
  const incidents = makeIncidents(given, { detector });
  const announcements = makeAnnouncements(given, { bans });
  const filterRules = makeFilterRules(given);
  const dataPlane = makeDataPlane(given, { protections, bans, filterRules });
  const sourceBlocks = makeSourceBlocks(given, { filterRules, dataPlane }, slots);
  const orders = timedOrders({
    // Open windows first: they change what a ban does.
    ...{ maintenance, ban: bans, source_block: sourceBlocks, filter_rule: filterRules },
    ...{ protection: null, lever: null },
  });
  const now = makeNow(given, { orders });
  const packetPath = makePacketPath(given, { detector, bans, dataPlane, rules, now });
  const telemetry = makeTelemetry(given, { packetPath });
  const ofAttacks = { detector, timelines, incidents, announcements, packetPath, telemetry };
  const ofMitigation = {
    maintenance,
    announcer,
    diversions,
    scrub,
    protections,
    rules,
    bans,
    filterRules,
    dataPlane,
    sourceBlocks,
    orders,
  };
  return { ...ofAttacks, ...ofMitigation, now };
}

function makeSlots({ options, later }: Given): KernelSlots {
  const { config } = options;
  return kernelSlots(config, { config: () => later.get().config(), room: () => later.get().sourceBlocks.room });
}

function makeAnnouncer({ options, later }: Given): GobgpAnnouncer | null {
  return openAnnouncer({ ...options, bans: () => later.get().bans.active.values() });
}

function makeDetector({ options, later }: Given): Detector {
  return new Detector(detectionPolicy(options.config), idsOf(options), makeBaselines(options), (aim, attack) =>
    droppedOf(aim, attack, later.get()),
  );
}

const idsOf =
  ({ attackIds = OWN_IDS }: FloodwallOptions): NewAttackId =>
  (of) =>
    attackIds.newId(of);

function makeScrub({ options, later }: Given, { detector }: Made<"detector">): ScrubNodes {
  return openScrubNodes({ ...options, present: () => later.get().config(), attacks: () => detector.active });
}

function makeProtections({ options, later }: Given, slots: KernelSlots): Protections {
  return openProtections({
    ...options,
    ...slots.ofChoices,
    onChange: () => later.get().protectionChanged(),
    ...onOrders(later),
  });
}

function makeMaintenance({ options, later }: Given): MaintenanceWindows {
  return openMaintenance({ ...options, onChange: () => later.get().windowsChanged(), ...onOrders(later) });
}

function makeRules({ options, limiter, later }: Given): RuleFinder {
  return openRuleFinder({
    ...options,
    limiter,
    onFound: (answers) => later.get().bans.rulesFound(answers, later.get().now().wallMs),
  });
}

function makeDiversions({ options, later }: Given): Diversions {
  return openDiversions(
    options,
    () => later.get().config(),
    (prefix) => later.get().bans.active.get(prefix),
  );
}

function makeBans(
  { options, limiter, later }: Given,
  made: Made<"announcer" | "detector" | "scrub" | "protections" | "rules" | "maintenance" | "diversions">,
): BanEngine {
  const { config, state, log } = options;
  const { announcer, detector, scrub, protections, rules, maintenance, diversions } = made;
  return new BanEngine({
    policy: mitigationPolicy(config, protections, maintenance),
    store: faultingTable(state.table("bans")),
    announcer,
    diversions,
    observed: (attack) => later.get().packetPath?.observed(attack) ?? null,
    makeRules: rules.make,
    ...(options.foreignBans && { foreign: options.foreignBans }),
    ...(options.goOn && { goOn: options.goOn }),
    overThresholdMs: ({ id }, wallMs) => detector.meters.overThresholdMs(id, wallMs),
    isHere: (ban) => later.get().dataPlane?.isInForce(ban) ?? true,
    ...scrubCircumstances(scrub),
    neighborRules: (request) => announcer?.neighborRules(request) ?? NO_NEIGHBOR_RULES,
    newId: randomUUIDv7,
    endedKept: ENDED_BANS_KEPT,
    onChange: (ban, previous) => later.get().banChanged({ ban, previous }),
    onFault: (cause) =>
      limiter.pass("ban", (suppressed) => log.error({ cause, suppressed }, "a ban could not be updated")),
  });
}

function makeIncidents({ options, limiter, later }: Given, { detector }: Made<"detector">): Incidents {
  const { state, log, metrics } = options;
  return openIncidents({
    ...{ state, limiter, log, metrics: metrics.incidents },
    present: () => later.get().config(),
    attacks: () => detector.active.values(),
    wallMs: () => later.get().now().wallMs,
  });
}

function makeAnnouncements({ options: { metrics } }: Given, { bans }: Made<"bans">): AnnouncementTimer {
  return new AnnouncementTimer(bans, (elapsedMs) => metrics.mitigation.announcedAfterDetection(elapsedMs / 1000));
}

function makeFilterRules({ options, later }: Given): FilterRules {
  return openFilterRules({
    ...options,
    onChange: () => later.get().dataPlane?.rulesChanged(),
    onEnded: (end, orders) => later.get().ordersEnded(rulesEnded(end, orders, later.get())),
    ...onOrders(later),
  });
}

function makeDataPlane(
  { options, limiter, later }: Given,
  { protections, bans, filterRules }: Made<"protections" | "bans" | "filterRules">,
): DataPlane | null {
  return openDataPlane({
    ...options,
    filterRules: () => filterRules.inForce(),
    limiter,
    bans: () => bans.active.values(),
    chosen: () => protections.active,
    pairs: () => later.get().sourceBlocks.size,
    putPairs: () => later.get().sourceBlocks.onKernelUp(),
    closeSources: (interfaces) => later.get().packetPath?.closeInline(interfaces),
    openSources: () => later.get().packetPath?.openSources(),
  });
}

function makeSourceBlocks(
  { options: { config, state, log, metrics }, limiter, later }: Given,
  { filterRules, dataPlane }: Made<"filterRules" | "dataPlane">,
  slots: KernelSlots,
): SourceBlocks {
  return openSourceBlocks({
    ...{ config, log, limiter, metrics: metrics.sourceBlocks },
    ...{ store: faultingTable(state.table("source_blocks")), installer: dataPlane, slots: slots.shares },
    filterRuleSlots: () => filterRules.places,
    onEnded: (end, orders) => later.get().ordersEnded(blocksEnded(end, orders, later.get())),
    ...onOrders(later),
  });
}

function onOrders(later: Late<Later>) {
  return { onOrders: (changes: readonly OrderedChange[]) => later.get().ordersChanged(changes) };
}

function makeNow({ options: { clock, log } }: Given, { orders }: Made<"orders">): () => Now {
  const steps = new ClockSteps(clock);
  return () => {
    const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    const stepMs = steps.take();
    if (stepMs !== 0) {
      log.warn({ step_ms: Math.round(stepMs) }, "the wall clock was set: expiries of bans move with it");
      for (const owner of orders) owner.clockStepped(stepMs, now.wallMs);
    }
    return now;
  };
}

function makePacketPath(
  { options, limiter, later }: Given,
  { detector, bans, dataPlane, rules, now }: Made<"detector" | "bans" | "dataPlane" | "rules" | "now">,
): PacketPath | null {
  const { config, native, log, timers, metrics, originOf = null, baselineKeeper, profileKeeper = null } = options;
  const { capture } = config;
  if (native === null || capture === null) return null;
  return new PacketPath({
    ...{ native, config, capture, detector, originOf, log, timers, profileKeeper, now },
    newId: idsOf(options),
    ingressOf: (key) => later.get().telemetry?.ingressOf(key) ?? null,
    keeper: baselineKeeper ?? new BaselineFile(config.stateDir),
    banned: () => bannedPrefixes(bans.active.values()),
    filter: () => dataPlane?.filter ?? null,
    outcomes: dataPlane?.outcomes,
    onChanges: (changes, at) => later.get().attacksChanged(changes, at),
    onSampled: (attack) => later.get().attackHappened({ kind: "sampled", attack }, now()),
    onClassified: (event) => {
      bans.attackClassified(event.attack, now().wallMs);
      later.get().attackHappened(event, now());
    },
    onSeen: (attack) => bans.attackClassified(attack, now().wallMs, "newer"),
    isBehind: () => rules.isBehind,
    onTick: ({ summary, busyMs, isStale }) => {
      const { foldMicros, screened: screenedRows } = summary;
      metrics.detection.tick({ foldSeconds: foldMicros / 1e6, busySeconds: busyMs / 1000, screenedRows });
      if (!isStale) later.get().ticked();
    },
    onFault: (cause) => {
      metrics.detection.tickFailed();
      limiter.pass("tick", (suppressed) => log.error({ cause, suppressed }, "a detection tick failed"));
    },
    onLearningFault: (operation, cause) => {
      metrics.baselines.failed(operation);
      limiter.pass(`baselines ${operation}`, (suppressed) =>
        log.error({ cause, suppressed }, LEARNING_FAULTS[operation]),
      );
    },
  });
}

function makeTelemetry({ options, limiter }: Given, { packetPath }: Made<"packetPath">): TelemetryWatch | null {
  const { config, metrics } = options;
  if (packetPath === null || config.telemetry === null) return null;
  return new TelemetryWatch({
    ...options,
    config: config.telemetry,
    read: () => packetPath.flowReadings() ?? { listeners: [], exporters: [] },
    ...{ limiter, metrics: metrics.telemetry },
  });
}
