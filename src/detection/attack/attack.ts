/**
 * One attack on one host, or on a hostgroup as a whole, from the tick that crossed a threshold to the end of its
 * hysteresis (docs/interface.md#attack-states). Knows nothing of bans, storage or the wire.
 */
import type { Thresholds } from "../../config/config.ts";
import type { IpAddress } from "../../net/address.ts";
import { type Direction, METRICS, type Metric, type Rates } from "../../traffic/rates.ts";
import type { Classification } from "./classifier.ts";
import type { Reason } from "./reason.ts";
import type { Sample, SampledPacket } from "./sample.ts";

export interface Attack {
  /** Stable over a restart. */
  readonly id: string;
  readonly scope: "host" | "group";
  /** null: scope group. */
  readonly target: IpAddress | null;
  readonly group: string;
  /** The part of the hostgroup that is attacked, and over how many of its hosts that is spread; null: all or one of it. */
  readonly carpet: { readonly prefix: string; readonly hosts: number } | null;
  readonly direction: Direction;
  /** The first metric in the order of METRICS that was crossed; frozen. */
  readonly metric: Metric;
  /** Its threshold; frozen. */
  readonly threshold: number;
  /** All thresholds at the start; the end is judged against these. */
  readonly thresholds: Thresholds;
  readonly reason: Reason;
  /** Taken soon after the start; null before, and when sampling is off. */
  readonly sample: Sample | null;
  /** What kind of attack it is, judged again while it lasts; null until that can be told. */
  readonly classification: Classification | null;
  /** Above the baseline for hours, never over a threshold that the operator set: perhaps it is none. */
  readonly lastingRise: boolean;
  /** Wall clock, ms. */
  readonly startedAt: number;
  /** Wall clock, ms; null while the attack lasts. */
  readonly endedAt: number | null;
  /** The last rates seen while it lasted. */
  readonly rates: Rates;
  /** Monotonic ms since when all rates are within the thresholds; null while one is over. */
  readonly calmSinceMs: number | null;
}

/**
 * What others want to hear of an attack. `sampled`: it has a sample now, or a better one. `lasts`: with each tick.
 */
export type AttackEvent =
  | { readonly kind: "started" | "lasts" | "sampled" | "ended"; readonly attack: Attack }
  | ClassifiedEvent;

/** An attack's kind can be told, by packets of it as far as they can be told from others. */
export interface ClassifiedEvent {
  readonly kind: "classified";
  readonly attack: Attack;
  /** It is the first, or another one than before; else it is the same, told from many more packets. */
  readonly isNewKind: boolean;
  readonly packets: readonly SampledPacket[];
}

/** Both clocks at one moment. */
export interface Now {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export interface Detection {
  readonly id: string;
  /** null: the hostgroup as a whole. */
  readonly target: IpAddress | null;
  readonly group: string;
  readonly direction: Direction;
  /** Index in METRICS of the first metric that was crossed. */
  readonly metric: number;
  /** Those that it was judged by. */
  readonly thresholds: Thresholds;
  readonly rates: Rates;
  readonly reason: Reason;
}

export function startAttack(detection: Detection, now: Now): Attack {
  const { id, target, group, direction, metric, thresholds, rates, reason } = detection;
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
    calmSinceMs: null,
  };
}

/**
 * What one tick's rates make of an attack in progress: it goes on, or ends after `hysteresisMs` of calm. One that is over
 * never changes again.
 */
export function observeAttack(attack: Attack, rates: Rates, hysteresisMs: number, now: Now): Attack {
  if (!isActive(attack)) return attack;
  if (firstCrossed(rates, attack.thresholds) >= 0) return { ...attack, rates, calmSinceMs: null };
  const calmSinceMs = attack.calmSinceMs ?? now.monotonicMs;
  if (now.monotonicMs - calmSinceMs < hysteresisMs) return { ...attack, rates, calmSinceMs };
  return endAttack({ ...attack, calmSinceMs }, now.wallMs);
}

/** Whatever its rates are: nobody sees it by itself any more. */
export function endAttack(attack: Attack, wallMs: number): Attack {
  return isActive(attack) ? { ...attack, endedAt: wallMs } : attack;
}

export function isActive(attack: Attack): boolean {
  return attack.endedAt === null;
}

/** The rate of the metric that tripped. */
export function attackRate(attack: Attack): number {
  return attack.rates[METRICS.indexOf(attack.metric)] ?? 0;
}

/** Index of the first metric strictly over its threshold, -1 when there is none. A threshold of 0 is off. `from`: in `rates`. */
export function firstCrossed(rates: Rates, thresholds: Rates, from = 0): number {
  for (let i = 0; i < METRICS.length; i++) {
    const threshold = thresholds[i] as number;
    if (threshold > 0 && (rates[from + i] as number) > threshold) return i;
  }
  return -1;
}
