/**
 * Runs a capture through the real packet path, detection and ban engine, on the capture's time, and emits events.
 * Announces and stores nothing; does not know how events are shown.
 */

import type { Config } from "../config/config.ts";
import type { Decapsulation, Engine, Native, Replay, SourceStatus } from "../dataplane/native.d.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { findingsOf, noticeOf, type Reading } from "../detection/attack/attack-reading.ts";
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import { Baselines } from "../detection/baseline/baselines.ts";
import { Detection } from "../detection/judge/detection.ts";
import { type AttackChange, Detector } from "../detection/judge/detector.ts";
import { detectionPolicy } from "../detection/judge/policy.ts";
import { ENDED_BANS_KEPT, HOST_IDLE_MS } from "../limits.ts";
import { type Ban, type BanChange, type BanChangeKind, banChangeKind } from "../mitigation/ban.ts";
import { BanEngine } from "../mitigation/ban-engine.ts";
import { NO_NEIGHBOR_RULES } from "../mitigation/circumstances.ts";
import { NO_HOOK } from "../mitigation/diversion.ts";
import { mitigationPolicy } from "../mitigation/policy.ts";
import { attackRules } from "../mitigation/rules/attack-rules.ts";
import type { Now } from "../system/now.ts";
import { forgettingTable } from "../system/record-table.ts";

/** Times are those of the capture, ms since the epoch. `ban`: the current ban of the attack; null: none. */
export type ReplayEvent =
  | {
      readonly kind: "attack";
      readonly change: AttackChange["kind"];
      readonly attack: Attack;
      readonly ban: Ban | null;
    }
  | { readonly kind: "reading"; readonly reading: Reading; readonly attack: Attack; readonly ban: Ban | null }
  | BanEvent;

export interface BanEvent {
  readonly kind: "ban";
  readonly change: BanChangeKind;
  readonly ban: Ban;
}

export interface PacketTotals {
  readonly received: number;
  readonly counted: number;
  /** Packets of a configured network whose host got no row in the host table. */
  readonly untracked: number;
  /** Packets of no configured network. */
  readonly foreign: number;
  /** Not counted, by reason, without zeros. */
  readonly parseErrors: Readonly<Record<string, number>>;
  /** The packets of `not_ip`, by Ethernet type: see QueueStats. */
  readonly etherTypes: Readonly<Record<string, number>>;
}

/** The size of all attacks together; the peaks are the highest that one attack had. */
export interface AttacksSize {
  readonly packets: number;
  readonly bits: number;
  readonly peakPps: number;
  readonly peakBps: number;
}

export interface ReplayTotals {
  /** Ticks of the capture, ms since the epoch; null: it has no packets. */
  readonly startedMs: number | null;
  readonly endedMs: number | null;
  readonly packets: PacketTotals;
  readonly attacks: number;
  readonly size: AttacksSize;
  /** Attacks in progress at the end of the capture, with their bans. */
  readonly lasting: readonly { readonly attack: Attack; readonly ban: Ban | null }[];
  readonly bans: Readonly<Record<Ban["state"], number>>;
  /** Rows over a threshold that were not judged in their tick, and detections beyond the table of attacks. */
  readonly unjudgedRows: number;
  readonly refusedAttacks: number;
  /** Why the capture ends early; null: it was read to its end. */
  readonly error: string | null;
}

interface ReplayRunOptions {
  readonly native: Native;
  readonly config: Config;
  /** Looks up where sources are; null: origins are not known. */
  readonly originOf: OriginOf | null;
  readonly capture: string;
  readonly onEvent: (event: ReplayEvent, timeMs: number) => void;
  /** Seed of the choice of sampled packets if there are many: the same seed repeats a run. Default: 0, as a service has. */
  readonly seed?: number;
}

/** Throws when the capture cannot be opened; the message names it and the remedy. */
export function runReplay({ native, config, originOf, capture, onEvent, seed = 0 }: ReplayRunOptions): ReplayTotals {
  const engine = openReplayEngine(native, config);
  try {
    const run = new ReplayRun(engine, { native, config, originOf, onEvent, seed });
    return run.through(engine.openReplay(capture, replayOptions(config)));
  } finally {
    engine.close();
  }
}

export function openReplayEngine(native: Native, config: Config): Engine {
  const { maxHosts, directions } = replayTable(config);
  const { windowMs, tickMs } = config.detection;
  const fixed = { clock: "capture", idleMs: HOST_IDLE_MS } as const;
  return native.openEngine({ maxHosts, windowMs, tickMs, countOutgoing: directions === 2, ...fixed });
}

/** The encapsulations of a capture: all that those of any source are, by the configured ports. */
export function replayOptions({ capture }: Config): Decapsulation {
  const kinds = [capture, ...(capture?.interfaces ?? []), ...(capture?.tunnels ?? [])].flatMap(
    (source) => source?.decapsulate ?? [],
  );
  return { decapsulate: [...new Set(kinds)], ...(capture !== null && { vxlanPorts: capture.vxlanPorts }) };
}

/** A capture is replayed with any configuration, also one without a packet source. */
export function replayTable({ capture, hostgroups }: Config): {
  readonly maxHosts: number;
  readonly directions: 1 | 2;
} {
  const isOutgoingJudged = hostgroups.some(({ thresholdsOutgoing }) => thresholdsOutgoing !== null);
  return { maxHosts: capture?.maxHosts ?? 1_048_576, directions: isOutgoingJudged ? 2 : 1 };
}

class ReplayRun {
  readonly #onEvent: ReplayRunOptions["onEvent"];
  readonly #detection: Detection;
  readonly #bans: BanEngine;
  readonly #banStates = { active: 0, withdrawn: 0, rejected: 0 };
  /** Ban events that wait for the events of their attacks. */
  #held: BanEvent[] | null = null;
  #ids = 0;
  #attacks = 0;
  #size: AttacksSize = { packets: 0, bits: 0, peakPps: 0, peakBps: 0 };
  #timeMs = 0;
  #learnAtMs = 0;

  constructor(
    engine: Engine,
    { native, config, originOf, onEvent, seed }: Required<Omit<ReplayRunOptions, "capture">>,
  ) {
    this.#onEvent = onEvent;
    const newId = () => String(++this.#ids);
    const { maxHosts, directions } = replayTable(config);
    const baselines = new Baselines(native.openBaselines({ capacity: maxHosts, directions }));
    const detector = new Detector(detectionPolicy(config), newId, baselines);
    this.#detection = new Detection({
      ...{ counter: engine, detector, config, originOf, newId, seed },
      openPrefixSums: (capacity) => native.openPrefixSums(capacity),
    });
    this.#bans = new BanEngine({
      policy: { ...mitigationPolicy(config), dryRun: true },
      store: forgettingTable(),
      announcer: null,
      observed: (attack) => this.#detection.sampler.observed(attack),
      makeRules: attackRules,
      // Nothing is dropped of a capture, and a virtual ban holds nothing.
      overThresholdMs: () => 0,
      isHere: () => true,
      diversions: NO_HOOK,
      // A capture contains no information about nodes.
      divertTo: () => null,
      nodeRules: () => [],
      neighborRules: () => NO_NEIGHBOR_RULES,
      newId,
      endedKept: ENDED_BANS_KEPT,
      onChange: (ban, previous) => this.#banChanged({ ban, previous }),
      onFault: (cause) => {
        throw cause;
      },
    });
  }

  through(source: Replay): ReplayTotals {
    let startedMs: number | null = null;
    for (let next = source.advance(); next !== null; next = source.advance()) {
      startedMs ??= next;
      this.#timeMs = next;
      this.#tick({ wallMs: next, monotonicMs: next });
    }
    return this.#totals(source, startedMs);
  }

  #tick(now: Now): void {
    const { detector, judge, learner, carpets, sampler } = this.#detection;
    this.#attacksChanged(judge.judge(now), now);
    this.#bans.tick(now.wallMs);
    if (now.wallMs >= this.#learnAtMs) {
      this.#learnAtMs = now.wallMs + 1000;
      this.#detection.learnProfiles(now.monotonicMs);
      for (const _ of learner.pass(now.wallMs / 1000));
      this.#attacksChanged(carpets.judgeWithoutPauses(now), now);
    }
    for (const reading of sampler.readings(now)) {
      const attack = detector.attach(reading.id, findingsOf(reading));
      if (attack === null) continue;
      const notice = noticeOf(reading);
      if (notice !== null) this.#bans.attackClassified(attack, now.wallMs, notice);
      this.#emit({ kind: "reading", reading, attack, ban: this.#bans.banOf(attack) });
    }
  }

  /** The event of an attack has the ban that it got or lost, and comes before the event of that ban. */
  #attacksChanged(changes: readonly AttackChange[], now: Now): void {
    const held: BanEvent[] = [];
    this.#held = held;
    this.#bans.attacksChanged(changes, now.wallMs);
    this.#held = null;
    for (const { kind, attack } of changes) {
      if (kind === "started") this.#attacks++;
      if (kind === "ended") this.#size = sizeWith(this.#size, attack);
      if (kind !== "lasts") this.#emit({ kind: "attack", change: kind, attack, ban: this.#bans.banOf(attack) });
    }
    for (const event of held) this.#emit(event);
    this.#detection.sampler.attacksChanged(changes, now);
  }

  #banChanged(change: BanChange): void {
    const { ban, previous } = change;
    const kind = banChangeKind(change);
    if (kind === null) return;
    if (kind === ban.state) {
      if (previous !== null && kind !== "active") this.#banStates.active--;
      this.#banStates[kind]++;
    }
    const event: BanEvent = { kind: "ban", change: kind, ban };
    if (this.#held === null) this.#emit(event);
    else this.#held.push(event);
  }

  #emit(event: ReplayEvent): void {
    this.#onEvent(event, this.#timeMs);
  }

  #totals(source: Replay, startedMs: number | null): ReplayTotals {
    const { detector, judge } = this.#detection;
    const status = source.status();
    return {
      startedMs,
      endedMs: startedMs === null ? null : this.#timeMs,
      packets: packetTotals(status),
      attacks: this.#attacks,
      size: [...detector.active.values()].reduce(sizeWith, this.#size),
      lasting: [...detector.active.values()].map((attack) => ({ attack, ban: this.#bans.banOf(attack) })),
      bans: this.#banStates,
      unjudgedRows: judge.overflow,
      refusedAttacks: detector.refused,
      error: status.error,
    };
  }
}

function sizeWith({ packets, bits, peakPps, peakBps }: AttacksSize, { volume }: Attack): AttacksSize {
  return {
    packets: packets + (volume?.packets ?? 0),
    bits: bits + (volume?.bits ?? 0),
    peakPps: Math.max(peakPps, volume?.peakPps ?? 0),
    peakBps: Math.max(peakBps, volume?.peakBps ?? 0),
  };
}

export function packetTotals({ queues }: SourceStatus): PacketTotals {
  const sum = (field: "receivedPackets" | "countedPackets" | "foreignPackets" | "untrackedPackets") =>
    queues.reduce((total, queue) => total + queue[field], 0);
  return {
    received: sum("receivedPackets"),
    counted: sum("countedPackets"),
    untracked: sum("untrackedPackets"),
    foreign: sum("foreignPackets"),
    parseErrors: sumsOf(queues.map(({ parseErrors }) => parseErrors)),
    etherTypes: sumsOf(queues.map(({ etherTypes }) => etherTypes)),
  };
}

function sumsOf(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of counts.flatMap((ofQueue) => Object.entries(ofQueue))) {
    if (count > 0) sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}
