/**
 * `floodwall replay`: runs a capture through the real packet path, detection and ban engine, on the capture's own time,
 * and tells what would have happened. Announces and stores nothing.
 */
import type { Config } from "./config/config.ts";
import type { Engine, Native, Replay } from "./dataplane/native.d.ts";
import { type Attack, attackRate, type Now } from "./detection/attack.ts";
import { AttackSampler, findingsOf, type Reading } from "./detection/attack-sampler.ts";
import { BaselineLearner } from "./detection/baseline-learner.ts";
import { Baselines } from "./detection/baselines.ts";
import { CarpetJudge } from "./detection/carpet-judge.ts";
import { CarpetScan } from "./detection/carpet-scan.ts";
import { type AttackChange, Detector } from "./detection/detector.ts";
import { carpetPolicy, detectionPolicy, samplingPolicy } from "./detection/policy.ts";
import type { Share } from "./detection/sample.ts";
import { screensFor } from "./detection/screens.ts";
import { TickJudge } from "./detection/tick-judge.ts";
import { ENDED_BANS_KEPT, HOST_IDLE_MS, SCREENED_ROWS_MAX } from "./limits.ts";
import { attackRules } from "./mitigation/attack-rules.ts";
import type { Ban } from "./mitigation/ban.ts";
import { BanEngine } from "./mitigation/ban-engine.ts";
import { measureText } from "./mitigation/measure.ts";
import { mitigationPolicy } from "./mitigation/policy.ts";
import { type Metric, round } from "./traffic/rates.ts";

export interface ReplayOptions {
  readonly native: Native;
  readonly config: Config;
  readonly capture: string;
  readonly print: (line: string) => void;
}

/** Throws when the capture cannot be opened; the message names it and the remedy. */
export function replay({ native, config, capture, print }: ReplayOptions): void {
  const engine = native.openEngine({
    maxHosts: hostTable(config).maxHosts,
    windowMs: config.detection.windowMs,
    tickMs: config.detection.tickMs,
    countOutgoing: hostTable(config).directions === 2,
    clock: "capture",
    idleMs: HOST_IDLE_MS,
  });
  try {
    engine.setNetworks(config.lookup.table);
    engine.setScreens(screensFor(config.hostgroups));
    const source = engine.openReplay(capture);
    const attacks = run(engine, source, config, print);
    summarize(source, attacks, print);
  } finally {
    engine.close();
  }
}

/** A capture is replayed with any configuration, also one that names no source of packets. */
function hostTable({ capture, hostgroups }: Config): { readonly maxHosts: number; readonly directions: 1 | 2 } {
  const isOutgoingJudged = hostgroups.some(({ thresholdsOutgoing }) => thresholdsOutgoing !== null);
  return { maxHosts: capture?.maxHosts ?? 1_048_576, directions: isOutgoingJudged ? 2 : 1 };
}

function run(engine: Engine, source: Replay, config: Config, print: (line: string) => void): Map<string, Attack> {
  let ids = 0;
  let timeMs = 0;
  const newId = () => String(++ids);
  const { maxHosts, directions } = hostTable(config);
  const baselines = new Baselines({ capacity: maxHosts, directions, seed: 0 });
  const detector = new Detector(detectionPolicy(config), newId, baselines);
  const scan = new CarpetScan(config);
  const learner = new BaselineLearner({
    source: engine,
    baselines,
    active: detector.active,
    carpets: scan,
    windowMs: config.detection.windowMs,
    hostgroups: () => config.hostgroups,
  });
  const carpets = new CarpetJudge(carpetPolicy(config), scan, detector.active, newId);
  let learnAtMs = 0;
  const judge = new TickJudge(engine, detector, SCREENED_ROWS_MAX);
  const sampler = new AttackSampler(engine, samplingPolicy(config));
  const bans = new BanEngine({
    policy: { ...mitigationPolicy(config), dryRun: true },
    store: { saveBan: () => {}, removeBan: () => {}, atOnce: (writes) => writes() },
    announcer: null,
    packetsOf: (attack) => sampler.packetsOf(attack),
    makeRules: attackRules,
    newId,
    endedKept: ENDED_BANS_KEPT,
    onChange: (ban, previous) => {
      if (ban.state !== previous?.state) print(`${time(timeMs)}  ${banLine(ban)}`);
    },
    onUnsaved: () => {},
    onStoreFault: () => {},
    onFault: (cause) => {
      throw cause;
    },
  });
  const attacks = new Map<string, Attack>();
  for (let next = source.advance(); next !== null; next = source.advance()) {
    timeMs = next;
    const now: Now = { wallMs: timeMs, monotonicMs: timeMs };
    const changes = judge.judge(now);
    for (const change of changes) {
      attacks.set(change.attack.id, change.attack);
      if (change.kind !== "lasts") print(`${time(timeMs)}  ${attackLine(change)}`);
    }
    bans.attacksChanged(changes, timeMs);
    bans.tick(timeMs);
    if (timeMs >= learnAtMs) {
      learnAtMs = timeMs + 1000;
      for (const _ of learner.pass(timeMs / 1000));
      const spread = carpets.judge(now);
      for (const change of spread) {
        attacks.set(change.attack.id, change.attack);
        if (change.kind !== "lasts") print(`${time(timeMs)}  ${attackLine(change)}`);
      }
      sampler.attacksChanged(spread, now);
    }
    sampler.attacksChanged(changes, now);
    for (const reading of sampler.readings(now)) {
      const attack = detector.attach(reading.id, findingsOf(reading));
      if (attack !== null) attacks.set(attack.id, attack);
      if (attack !== null && (reading.isNewKind || reading.isFirmer)) bans.attackClassified(attack, timeMs);
      if (reading.isNewKind) print(`${time(timeMs)}  ${vectorLine(reading)}`);
      if (reading.isComplete) print(`${time(timeMs)}  ${sampleLine(reading)}`);
    }
  }
  return attacks;
}

function summarize(source: Replay, attacks: ReadonlyMap<string, Attack>, print: (line: string) => void): void {
  const lasting = [...attacks.values()].filter((attack) => attack.endedAt === null).length;
  const { queues, error } = source.status();
  const sum = (field: "receivedPackets" | "countedPackets" | "foreignPackets" | "untrackedPackets") =>
    queues.reduce((total, queue) => total + queue[field], 0);
  print(
    `${sum("receivedPackets")} packets: ${sum("countedPackets")} counted, ${sum("untrackedPackets")} untracked, ` +
      `${sum("foreignPackets")} of no configured network`,
  );
  for (const { parseErrors } of queues) {
    for (const [reason, count] of Object.entries(parseErrors)) if (count > 0) print(`${count} not counted: ${reason}`);
  }
  if (error !== null) print(`the capture ends early: ${error}`);
  print(`attacks: ${attacks.size}, still going on at the end: ${lasting}`);
}

function attackLine({ kind, attack }: AttackChange): string {
  if (kind === "ended") return `attack ended    ${victim(attack)}  after ${seconds(attack)} s`;
  const { metric } = attack;
  return `attack started  ${victim(attack)}  ${metric} ${rateText(metric, attackRate(attack))} > ${attack.threshold}`;
}

function victim({ target, group, direction, carpet }: Attack): string {
  if (carpet !== null) return `${carpet.prefix} (${carpet.hosts} hosts)`;
  return `${target ?? `hostgroup ${group}`}${direction === "outgoing" ? " outgoing" : ""}`;
}

function vectorLine({ target, classification }: Reading): string {
  if (classification === null) return "";
  const { type, confidence, parts } = classification;
  const shares = parts.map((part) => `${part.type} ${Math.round(100 * part.share)} %`).join(", ");
  return `attack vector   ${target}  ${type}, confidence ${confidence.toFixed(2)}${parts.length > 1 ? `: ${shares}` : ""}`;
}

function sampleLine({ target, sample }: Reading): string {
  if (sample === null) return "";
  const { protocols, topSources, topSourcePorts, topDestinationPorts, totalPackets } = sample;
  const largest = ([share]: readonly Share[]) =>
    share === undefined ? "none" : `${share.key} ${Math.round((100 * share.packets) / totalPackets)} %`;
  const ports = `ports ${largest(topSourcePorts)} to ${largest(topDestinationPorts)}`;
  return `attack sample   ${target}  ${largest(protocols)}, from ${largest(topSources)}, ${ports}, of ${totalPackets} packets`;
}

function banLine(ban: Ban): string {
  if (ban.state === "active")
    return `ban             ${measureText(ban.measure) || `${ban.prefix.text} ${ban.method}`}`;
  if (ban.state === "withdrawn") return `ban withdrawn   ${ban.prefix.text}  ${ban.reason}`;
  return `ban refused     ${ban.prefix.text}  ${ban.reason}`;
}

function rateText(metric: Metric, rate: number): string {
  return metric.endsWith("mbps") ? String(round(rate)) : String(Math.round(rate));
}

function seconds(attack: Attack): string {
  return (((attack.endedAt ?? attack.startedAt) - attack.startedAt) / 1000).toFixed(1);
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
