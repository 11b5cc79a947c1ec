/**
 * Measures every attack tick by tick: its volume and its series, also those of the attacks that ended last. Owns both
 * tables. Counts come from the packet counter; the counts of drops come from the owner.
 */
import { ACTIVE_ATTACKS_MAX } from "../../limits.ts";
import type { Now } from "../../system/now.ts";
import { METRICS, type Rates, type Thresholds } from "../../traffic/rates.ts";
import { type RowWeights, relativeDeviation, samplesOf } from "../certainty/sampling.ts";
import { type Attack, firstCrossed } from "./attack.ts";
import { AttackSeries, type SeriesTick } from "./attack-series.ts";
import {
  type Amount,
  type AttackVolume,
  type DroppedAmount,
  droppedSince,
  NOTHING,
  plus,
  VolumeMeter,
} from "./attack-volume.ts";
import { SampledSpan } from "./sampled-span.ts";

/**
 * Points of the series of one attack, and of all attacks together, about 10 MB: beyond that, points are merged. Ended
 * attacks whose series are kept.
 */
export const SERIES_POINTS_PER_ATTACK = 2560;
export const SERIES_POINTS_MAX = 128_000;
export const MEASURED_ATTACKS_KEPT = 128;

/** A target that is measured: of an attack, or of a suspect, which has no ban of its own. */
export type Aim = Pick<Attack, "target" | "direction">;

/** The known drops of a target's traffic so far; null: none is known. */
export type DroppedOf = (aim: Aim, attack: Attack | null) => DroppedAmount | null;

/** The traffic of the target in one span; `amounts` has METRICS.length values from `from` on. */
interface Counted {
  /** Wall clock, ms. */
  readonly endMs: number;
  readonly spanMs: number;
  /** The span is of a time before the window in which the host was attacked: it is shown, and no part of the attack. */
  readonly isBefore: boolean;
  readonly amounts: ArrayLike<number>;
  readonly from: number;
  /** The number of packets or bytes that one sample stands for. */
  readonly weights: RowWeights;
}

/** The rates over the window of an attack that has no host of its own, and whether it is above its thresholds. */
interface CountedWindow {
  readonly rates: Rates;
  readonly windowMs: number;
  readonly isAbove: boolean;
  readonly weights: RowWeights;
  /** Absent: the rates are those of one target. */
  readonly spread?: Spread;
}

/** The rates are a sum over several targets, each with the attack's thresholds. */
interface Spread {
  readonly targets: number;
  readonly busiest: Rates;
}

interface Suspect extends Aim {
  readonly thresholds: Thresholds;
  /** Index in METRICS. */
  readonly metric: number;
}

interface ThresholdReading {
  readonly endMs: number;
  readonly spanMs: number;
  readonly targets: number;
}

interface SampledTick {
  readonly samples: number;
  readonly exact: SeriesTick;
}

/** The span from which rates are computed. */
interface RatedTick extends SeriesTick {
  /** False: of sampled traffic, with too few samples. */
  readonly isBounded: boolean;
  /** The standard deviation of its rates, as a fraction of them. */
  readonly deviation: number;
}

interface Measured {
  readonly thresholds: Thresholds;
  readonly meter: VolumeMeter;
  readonly series: AttackSeries;
  metric: number;
  /** The span before, with those before it over which its rate was taken if it was short; of 0 ms: there is none. */
  lastMs: number;
  readonly last: Float64Array;
  /** For sampled traffic. */
  readonly sampled: SampledSpan;
  /** Monotonic ms: the last reading of an attack that is measured by windows. */
  readAtMs: number | null;
  /** At the last reading at which it was known. */
  dropped: DroppedAmount | null;
  /** It was at the last reading of all. */
  isDroppedKnown: boolean;
  /** Counted by the drops of the ban's rules since the outcomes by destination were last known. */
  ofRules: Amount;
  /** Wall clock, ms: the end of the last span. */
  endMs: number;
  /** Wall clock, ms: since when `offered` is summed. */
  droppedAtMs: number;
  /** In the metric's unit: what was offered since then, and dropped. */
  offered: number;
  droppedOfMetric: number;
  /** The part of it to the busiest of several targets. */
  offeredToOne: number;
  /** Wall clock, ms: since when more than the threshold gets through; null: it does not, or that is not known. */
  overThresholdSinceMs: number | null;
}

/**
 * A worker that has no CPU hands its counts over late, and a tick that was late shows that the machine is busy. A rate
 * is measured over a span of at least STEADY_LEAST ticks that follows one of at most STEADY_MOST; otherwise over both.
 */
const [STEADY_LEAST, STEADY_MOST] = [0.9, 1.25];
/** How often the drops of rules are read, and what gets through is compared with the threshold, ms. */
const DROPPED_EVERY_MS = 1000;
const [PPS, MBPS] = [METRICS.indexOf("pps"), METRICS.indexOf("mbps")];
const WIDTH = METRICS.length;

export class AttackMeters {
  readonly #tickMs: number;
  readonly #droppedOf: DroppedOf;
  readonly #active = new Map<string, Measured>();
  /** Series of ended attacks, the last one last. */
  readonly #ended = new Map<string, AttackSeries>();
  /** Targets above a threshold that are no attacks yet. */
  readonly #suspects = new Map<string, Measured>();
  /** Those of which something was counted since settle(). */
  readonly #counted = new Map<Attack, Measured>();
  readonly #rates = new Float64Array(WIDTH);

  constructor({ tickMs, droppedOf }: { readonly tickMs: number; readonly droppedOf: DroppedOf }) {
    this.#tickMs = tickMs;
    this.#droppedOf = droppedOf;
  }

  /** Adds the counts of an attacked host in one fold, oldest first. */
  add(attack: Attack, counted: Counted): void {
    const measured = this.#of(attack);
    this.#addTo(measured, counted);
    if (!counted.isBefore) this.#counted.set(attack, measured);
  }

  /** Begins to measure attacks whose targets are watched from now on. */
  begin(attacks: Iterable<Attack>): void {
    for (const attack of attacks) this.#of(attack);
  }

  /** Takes what was dropped of all that was added since the last call. Call it once a tick, after the last add(). */
  settle(): void {
    for (const [attack, measured] of this.#counted) this.#readDropped(attack, measured, measured.endMs);
    this.#counted.clear();
  }

  /** The target is above a threshold, and an attack if that lasts. */
  suspect(key: string, { thresholds, metric, ...aim }: Suspect): void {
    if (this.#suspects.has(key) || this.#suspects.size >= ACTIVE_ATTACKS_MAX) return;
    const measured = newMeasured({ thresholds, metric, volume: null });
    measured.dropped = this.#droppedOf(aim, null);
    this.#suspects.set(key, measured);
  }

  addToSuspect(key: string, counted: Counted): void {
    const measured = this.#suspects.get(key);
    if (measured !== undefined) this.#addTo(measured, counted);
  }

  /** The suspect is an attack now. */
  adopt(key: string, attack: Attack): void {
    const measured = this.#suspects.get(key);
    if (measured === undefined) return;
    this.#suspects.delete(key);
    measured.metric = METRICS.indexOf(attack.metric);
    // Outcomes have been counted since it is a suspect; what the rules of an older ban dropped until now is not of it.
    const dropped = this.#droppedOf(attack, attack);
    if (dropped?.by === undefined) measured.dropped = dropped;
    this.#active.set(attack.id, measured);
  }

  /** Others are not above a threshold any more. */
  keepSuspects(keys: ReadonlyMap<string, unknown>): void {
    for (const key of this.#suspects.keys()) if (!keys.has(key)) this.#suspects.delete(key);
  }

  #addTo(measured: Measured, counted: Counted): void {
    const { metric, thresholds, last, lastMs } = measured;
    const tick = tickOf(counted, metric);
    if (counted.isBefore) {
      const deviation = relativeDeviation(samplesOf(counted.amounts, counted.from, counted.weights));
      measured.series.add(tick, this.#pointsPerAttack(), { ...tick, deviation });
      measured.series.settle();
      return;
    }
    const isLong = counted.spanMs >= STEADY_LEAST * this.#tickMs;
    const isSteady = lastMs === 0 || (isLong && lastMs <= STEADY_MOST * this.#tickMs);
    const over = isSteady ? counted : joined(last, lastMs, counted);
    const { amounts, from, spanMs } = over;
    const rates = this.#rates;
    for (let i = 0; i < WIDTH; i++) rates[i] = ((amounts[from + i] as number) * 1000) / spanMs;
    const kept = isLong ? counted : over;
    measured.lastMs = kept.spanMs;
    for (let i = 0; i < WIDTH; i++) last[i] = kept.amounts[kept.from + i] as number;
    const isAbove = firstCrossed(rates, thresholds) >= 0;
    this.#count(measured, { tick, over: this.#rateSpan(measured, counted, isSteady ? counted : over), isAbove });
  }

  /** The span from which rates are computed: for sampled traffic, one with enough samples to bound their error. */
  #rateSpan({ sampled, metric }: Measured, counted: Counted, over: Counted): RatedTick {
    const samples = samplesOf(counted.amounts, counted.from, counted.weights);
    return rateSpan(counted, { sampled, samples, exact: tickOf(over, metric), metric });
  }

  /**
   * The rates over the window of an attack that has no host of its own: once a window, since windows that overlap would
   * count packets more than once.
   */
  addWindow(attack: Attack, { rates, windowMs, isAbove, weights, spread }: CountedWindow, now: Now): void {
    const measured = this.#of(attack);
    const spanMs = measured.readAtMs === null ? windowMs : now.monotonicMs - measured.readAtMs;
    if (spanMs < windowMs) return;
    measured.readAtMs = now.monotonicMs;
    const amounts = Float64Array.from({ length: WIDTH }, (_, i) => ((rates[i] as number) * spanMs) / 1000);
    const { metric, sampled } = measured;
    const counted = { endMs: now.wallMs, spanMs, amounts, from: 0, isBefore: false, weights };
    const tick = { ...tickOf(counted, metric), isWindow: true } as const;
    // Those of the window, however late it was read.
    const samples = (samplesOf(amounts, 0, weights) * windowMs) / spanMs;
    const over = rateSpan(counted, { sampled, samples, exact: tick, metric });
    this.#count(measured, { tick, over, isAbove });
    measured.offeredToOne += (((spread?.busiest ?? rates)[measured.metric] as number) * spanMs) / 1000;
    this.#readDropped(attack, measured, now.wallMs, spread?.targets);
  }

  /** null: nothing was counted above the thresholds yet. */
  volumeOf({ id, volume }: Attack): AttackVolume | null {
    return this.#active.get(id)?.meter.volume ?? volume;
  }

  /** null: it was not measured, or ended before those that are kept. */
  seriesOf(id: string): AttackSeries | null {
    return this.#active.get(id)?.series ?? this.#ended.get(id) ?? null;
  }

  /**
   * How long more than the threshold has been getting through what this machine drops, without a break, ms. 0: it does
   * not, or nothing is known of what was dropped.
   */
  overThresholdMs(id: string, wallMs: number): number {
    const since = this.#active.get(id)?.overThresholdSinceMs ?? null;
    return since === null ? 0 : Math.max(0, wallMs - since);
  }

  ended(id: string): void {
    const measured = this.#active.get(id);
    if (measured === undefined) return;
    this.#active.delete(id);
    this.#ended.set(id, measured.series);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MEASURED_ATTACKS_KEPT) break;
      this.#ended.delete(oldest);
    }
  }

  #of(attack: Attack): Measured {
    const known = this.#active.get(attack.id);
    if (known !== undefined) return known;
    const { thresholds, volume } = attack;
    const measured = newMeasured({ thresholds, metric: METRICS.indexOf(attack.metric), volume });
    measured.dropped = this.#droppedOf(attack, attack);
    this.#active.set(attack.id, measured);
    return measured;
  }

  /** `over`: the span over which the rates are measured. */
  #count(measured: Measured, of: { tick: SeriesTick; over: RatedTick; isAbove: boolean }): void {
    const { meter, series } = measured;
    measured.offered += of.tick.ofMetric;
    measured.endMs = of.tick.endMs;
    meter.add(of.tick, of.isAbove, of.over);
    series.add(of.tick, this.#pointsPerAttack(), of.over);
  }

  /** Every attack that is measured or kept has the same room. */
  #pointsPerAttack(): number {
    const attacks = this.#active.size + this.#suspects.size + this.#ended.size;
    return Math.min(SERIES_POINTS_PER_ATTACK, Math.floor(SERIES_POINTS_MAX / attacks));
  }

  #readDropped(attack: Attack, measured: Measured, endMs: number, targets = 1): void {
    // The wall clock may be set back.
    const spanMs = measured.droppedAtMs === 0 ? 0 : endMs - measured.droppedAtMs;
    const isDue = Math.abs(spanMs) >= DROPPED_EVERY_MS;
    // The drops of rules are as old as a second; outcomes by destination are of this tick.
    const areOfRules = measured.isDroppedKnown && measured.dropped?.by === undefined;
    if (isDue || !areOfRules || spanMs === 0) {
      const dropped = this.#droppedOf(attack, attack);
      if (dropped !== null) this.#addDrops(attack, measured, dropped);
      else if (isDue) measured.series.settle();
      measured.isDroppedKnown = dropped !== null;
    }
    if (isDue || spanMs === 0) this.#compareWithThreshold(attack, measured, { endMs, spanMs, targets });
  }

  #addDrops(attack: Attack, measured: Measured, dropped: DroppedAmount): void {
    const counted = newlyDropped(measured, dropped);
    measured.dropped = dropped;
    if (counted === null) return;
    measured.ofRules = dropped.by === undefined ? plus(measured.ofRules, counted) : NOTHING;
    measured.meter.drop(counted);
    measured.series.drop(counted);
    measured.droppedOfMetric += inUnitOf(attack.metric, counted);
  }

  #compareWithThreshold(attack: Attack, measured: Measured, reading: ThresholdReading): void {
    const { endMs, spanMs, targets } = reading;
    const { offered, offeredToOne, droppedOfMetric } = measured;
    measured.droppedAtMs = endMs;
    [measured.offered, measured.offeredToOne, measured.droppedOfMetric] = [0, 0, 0];
    const isAbove = (passed: number, times: number) => (passed * 1000) / spanMs > times * attack.threshold;
    const isOverThreshold =
      measured.isDroppedKnown &&
      spanMs > 0 &&
      (isAbove(offered - droppedOfMetric, targets) || isAbove(offeredToOne - droppedOfMetric, 1));
    measured.overThresholdSinceMs = isOverThreshold ? (measured.overThresholdSinceMs ?? endMs - spanMs) : null;
  }
}

/**
 * The growth of a reading over the one before. The drops of a ban's rules and the outcomes by destination are counters
 * of their own, which begin at other times. null: it is of the other counter, and says nothing of the time between.
 */
function newlyDropped({ dropped: before, ofRules }: Measured, now: DroppedAmount): DroppedAmount | null {
  if (before === null) return now;
  if (before.by === undefined && now.by !== undefined) {
    return droppedSince(ofRules, now);
  }
  if (before.by !== undefined && now.by === undefined) return null;
  // Another ban counts from zero.
  return now.packets >= before.packets ? droppedSince(before, now) : now;
}

/** The number of dropped flows is not known: all are counted as dropped, so that none are reported as passed. */
function inUnitOf(metric: Attack["metric"], { packets, bits }: DroppedAmount): number {
  if (metric.endsWith("mbps")) return bits / 1e6;
  return metric.endsWith("pps") ? packets : Number.POSITIVE_INFINITY;
}

function newMeasured(of: Pick<Measured, "thresholds" | "metric"> & Pick<Attack, "volume">): Measured {
  const { thresholds, metric, volume } = of;
  const meter = new VolumeMeter(volume);
  const series = new AttackSeries();
  const [last, sampled] = [new Float64Array(WIDTH), new SampledSpan(WIDTH)];
  const unread = {
    readAtMs: null,
    dropped: null,
    isDroppedKnown: false,
    ofRules: NOTHING,
    endMs: 0,
    droppedAtMs: 0,
    offered: 0,
    droppedOfMetric: 0,
    offeredToOne: 0,
    overThresholdSinceMs: null,
  };
  return { thresholds, metric, meter, series, lastMs: 0, last, sampled, ...unread };
}

/** From as many ticks as bound the error of their rates; `exact` where nothing was sampled. */
function rateSpan(counted: Counted, of: Pick<Measured, "sampled" | "metric"> & SampledTick): RatedTick {
  const { sampled, samples, exact, metric } = of;
  const { spanMs, amounts, from } = counted;
  const rated = sampled.add(spanMs, samples, amounts, from);
  if (samples === Number.POSITIVE_INFINITY) return { ...exact, isBounded: true, deviation: 0 };
  const tick = tickOf({ ...counted, spanMs: rated.spanMs, amounts: rated.amounts, from: 0 }, metric);
  return { ...tick, isBounded: rated.isBounded, deviation: relativeDeviation(rated.samples) };
}

function tickOf({ endMs, spanMs, amounts, from }: Counted, metric: number): SeriesTick {
  const packets = amounts[from + PPS] as number;
  const bits = (amounts[from + MBPS] as number) * 1e6;
  return { endMs, spanMs, packets, bits, ofMetric: amounts[from + metric] as number };
}

function joined(last: Float64Array, lastMs: number, counted: Counted): Counted {
  const { amounts, from, spanMs } = counted;
  const sums = last.map((amount, i) => amount + (amounts[from + i] as number));
  return { ...counted, spanMs: spanMs + lastMs, amounts: sums, from: 0 };
}
