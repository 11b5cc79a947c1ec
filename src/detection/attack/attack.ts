/**
 * One attack on one host, or on a whole hostgroup, from the tick that crossed a threshold to the end of its hysteresis
 * (docs/interface.md#attack-states). Independent of bans, storage and the wire.
 */

import type { IpAddress } from "../../net/address.ts";
import type { Target } from "../../net/target.ts";
import type { Now } from "../../system/now.ts";
import { type Direction, METRICS, type Metric, type Rates, type Thresholds } from "../../traffic/rates.ts";
import type { RateErrors } from "../certainty/sampling.ts";
import type { AttackVolume } from "./attack-volume.ts";
import type { Classification } from "./classifier.ts";
import type { Reason } from "./reason.ts";
import type { Sample } from "./sample.ts";
import type { TimelineEntry } from "./timeline.ts";

export interface Attack {
  /** Does not change with a restart. */
  readonly id: string;
  readonly scope: "host" | "group";
  /** null: scope group. */
  readonly target: IpAddress | null;
  readonly group: string;
  /** The attacked prefix of a carpet attack, and the number of attacked hosts in it; null: not a carpet attack. */
  readonly carpet: { readonly prefix: string; readonly hosts: number } | null;
  readonly direction: Direction;
  /** The first metric in the order of METRICS that was crossed; does not change. */
  readonly metric: Metric;
  /** The threshold of that metric; does not change. */
  readonly threshold: number;
  /** All thresholds at the start; the end is judged by these. */
  readonly thresholds: Thresholds;
  readonly reason: Reason;
  /** Taken soon after the start; null before that, and when sampling is off. */
  readonly sample: Sample | null;
  /** The kind of attack, updated while it lasts; null until known. */
  readonly classification: Classification | null;
  /** Above the baseline for hours and never above a configured threshold: perhaps legitimate traffic. */
  readonly lastingRise: boolean;
  /** Wall clock, ms. */
  readonly startedAt: number;
  /** Wall clock, ms; null while the attack lasts. */
  readonly endedAt: number | null;
  /** The last rates during the attack. */
  readonly rates: Rates;
  /** Errors of these rates at 95 %; null: they are exact. */
  readonly samplingError: RateErrors | null;
  /** The volume at the last tick; null: not counted yet, or not by the build that recorded the attack. */
  readonly volume: AttackVolume | null;
  /** Kept with stored and ended attacks; empty while it lasts. */
  readonly timeline: readonly TimelineEntry[];
  /** Kept with ended attacks, since their bans are forgotten earlier; absent: none, or while the attack lasts. */
  readonly mitigation?: AttackMitigation;
  /** Kept with stored and ended attacks: the incident that it belongs to; absent: in none, or while the attack lasts. */
  readonly incident?: string;
  /** Monotonic ms: start of the calm in which all rates are within the thresholds; null while one is above. */
  readonly calmSinceMs: number | null;
}

/** The last ban of an attack, as it was when the attack ended. */
export interface AttackMitigation {
  readonly isRejected: boolean;
  readonly method: string;
  /** In words. */
  readonly route: string;
  readonly dryRun: boolean;
}

/** Events of an attack. `sampled`: it has a sample now, or a better one. `lasts`: sent with each tick. */
export type AttackEvent =
  | { readonly kind: "started" | "lasts" | "sampled" | "ended"; readonly attack: Attack }
  | ClassifiedEvent;

/** An attack was classified. */
export interface ClassifiedEvent {
  readonly kind: "classified";
  readonly attack: Attack;
  /** True: the first classification or another kind; false: the same kind, from many more packets. */
  readonly isNewKind: boolean;
}

/** The details of an attack at its start. */
interface NewAttack {
  readonly id: string;
  /** null: the whole hostgroup. */
  readonly target: IpAddress | null;
  readonly group: string;
  readonly direction: Direction;
  /** Index in METRICS of the first metric that was crossed. */
  readonly metric: number;
  /** The thresholds that were applied. */
  readonly thresholds: Thresholds;
  readonly rates: Rates;
  /** Absent: the rates are exact. */
  readonly samplingError?: RateErrors | null;
  readonly reason: Reason;
}

/** The subject of an attack: at most one is in progress on it. */
export type AttackedSubject = Pick<Attack, "target" | "group" | "direction" | "carpet">;

/** Makes the id of an attack that begins. */
export type NewAttackId = (of: AttackedSubject) => string;

export function startAttack(attack: NewAttack, now: Now): Attack {
  const { id, target, group, direction, metric, thresholds, rates, samplingError = null, reason } = attack;
  return {
    id,
    scope: target === null ? "group" : "host",
    target,
    group,
    carpet: null,
    direction,
    metric: METRICS[metric] as Metric,
    threshold: thresholds[metric] as number,
    thresholds,
    reason,
    sample: null,
    classification: null,
    lastingRise: false,
    startedAt: now.wallMs,
    endedAt: null,
    rates,
    samplingError,
    volume: null,
    timeline: [],
    calmSinceMs: null,
  };
}

/** The calm of an attack: how long its rates have been within the thresholds, and how long until it ends. */
export interface Calm {
  readonly seconds: number;
  readonly ofSeconds: number;
}

/** @param ofSeconds after how long a calm the attack ends; null: it is over. null: it is over, or above a threshold. */
export function calmOf({ calmSinceMs }: Attack, ofSeconds: number | null, monotonicMs: number): Calm | null {
  if (calmSinceMs === null || ofSeconds === null) return null;
  return { seconds: Math.min((monotonicMs - calmSinceMs) / 1000, ofSeconds), ofSeconds };
}

/** The result of one tick for an attack. */
interface Observed {
  readonly rates: Rates;
  readonly volume: AttackVolume | null;
  /** Absent: the rates are exact. */
  readonly samplingError?: RateErrors | null;
  /** Whether a rate is above its threshold; absent: by the rates as they are. */
  readonly isAbove?: boolean;
}

/**
 * The next state of an attack after one tick: it continues, or ends after `hysteresisMs` of calm. An ended attack never
 * changes.
 */
export function observeAttack(attack: Attack, observed: Observed, hysteresisMs: number, now: Now): Attack {
  if (!isActive(attack)) return attack;
  const { rates, volume, samplingError = null } = observed;
  const isAbove = observed.isAbove ?? firstCrossed(rates, attack.thresholds) >= 0;
  if (isAbove) return { ...attack, rates, volume, samplingError, calmSinceMs: null };
  const calmSinceMs = attack.calmSinceMs ?? now.monotonicMs;
  if (now.monotonicMs - calmSinceMs < hysteresisMs) return { ...attack, rates, volume, samplingError, calmSinceMs };
  return endAttack({ ...attack, volume, calmSinceMs }, now.wallMs);
}

/** Ends an attack regardless of its rates, when it is no longer judged separately. */
export function endAttack(attack: Attack, wallMs: number): Attack {
  return isActive(attack) ? { ...attack, endedAt: wallMs } : attack;
}

export function isActive(attack: Attack): boolean {
  return attack.endedAt === null;
}

/** The rate of the metric that crossed its threshold. */
export function attackRate(attack: Attack): number {
  return attack.rates[METRICS.indexOf(attack.metric)] ?? 0;
}

/**
 * Index of the first metric strictly above its threshold, -1 if none. A threshold of 0 is off. `from`: index in
 * `rates`.
 */
export function firstCrossed(rates: Rates, thresholds: Rates, from = 0): number {
  for (let i = 0; i < METRICS.length; i++) {
    const threshold = thresholds[i] as number;
    if (threshold > 0 && (rates[from + i] as number) > threshold) return i;
  }
  return -1;
}

/** null: any. */
interface EndedAttackFilters {
  /** A prefix stands for each address inside it. */
  readonly target: Target | null;
  readonly group: string | null;
  /** The tenant of the victims when the attack ended. */
  readonly tenant: string | null;
}

export const NO_ATTACK_FILTERS: EndedAttackFilters = { target: null, group: null, tenant: null };

/** A part of the ended attacks in the history. */
export interface EndedAttacksQuery {
  /** The range of the end, wall clock ms, both included; absent: any. */
  readonly range?: { readonly fromMs: number; readonly toMs: number };
  /** The last id, in the order of ids, among those that end with the range; absent or null: all. */
  readonly toId?: string | null;
  /** Absent: any. */
  readonly filters?: EndedAttackFilters;
  /** Absent or null: of all owners. */
  readonly tenant?: string | null;
  readonly limit: number;
}
