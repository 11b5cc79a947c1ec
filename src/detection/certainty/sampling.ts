/**
 * Judges rates that were estimated from sampled packets (docs/sampling.md): whether a rate is above a threshold with a
 * stated confidence, and the error of an estimate. Pure. Knows nothing of hosts and attacks.
 */
import { type HostRows, ROW_WEIGHTS } from "../../traffic/host-rows.ts";
import { BYTES_PER_MEGABIT, type Direction, METRICS, type Rates } from "../../traffic/rates.ts";

/**
 * Values per row and direction in a column of weights: of packets and of bytes. The variance of an estimate, as a count
 * in the window, is the weight times the estimate: the weight is what one sample stands for. 0: nothing was sampled.
 */
export const WEIGHTS = 2;

/** The weights of one row and direction: WEIGHTS values of a column. */
export interface RowWeights {
  readonly column: ArrayLike<number>;
  readonly from: number;
}

export const EXACT: RowWeights = { column: [0, 0], from: 0 };

/** A rate is judged by the number of samples that it was estimated from. */
export interface Samples {
  readonly seen: number;
  /** The mean number that a rate of exactly the threshold gives. */
  readonly expected: number;
}

/** An attack ends when its rates are above its thresholds at most with this confidence; see docs/sampling.md. */
const LASTING_CONFIDENCE = 0.99;
/** Two-sided 95 % of the standard normal distribution. */
const ERROR_DEVIATE = 1.96;
const IS_OF_BYTES = METRICS.map((metric) => metric.endsWith("mbps"));

export class SamplingRule {
  readonly #windowSeconds: number;
  readonly #deviate: number;
  readonly #lastingDeviate: number;

  constructor({ windowMs, confidence }: { readonly windowMs: number; readonly confidence: number }) {
    this.#windowSeconds = windowMs / 1000;
    this.#deviate = normalDeviate(1 - confidence);
    this.#lastingDeviate = Math.min(this.#deviate, normalDeviate(1 - LASTING_CONFIDENCE));
  }

  /** Index of the first metric that is above its threshold with the confidence for a start; -1: none. */
  firstCertain(rates: Rates, thresholds: Rates, weights: RowWeights, from = 0): number {
    return this.#first(rates, thresholds, weights, { from, deviate: this.#deviate });
  }

  /** Whether an attack with these thresholds lasts. */
  isLasting(rates: Rates, thresholds: Rates, weights: RowWeights): boolean {
    return this.#first(rates, thresholds, weights, { from: 0, deviate: this.#lastingDeviate }) >= 0;
  }

  isCertain({ seen, expected }: Samples): boolean {
    return deviateOf(seen, expected) >= this.#deviate;
  }

  /** null: the metric is exact. */
  samples(metric: number, rate: number, threshold: number, weights: RowWeights): Samples | null {
    const perRate = samplesPerRate(metric, weights, this.#windowSeconds);
    return perRate === Number.POSITIVE_INFINITY ? null : { seen: rate * perRate, expected: threshold * perRate };
  }

  /** The variance of the rate; 0: the metric is exact. */
  variance(metric: number, rate: number, weights: RowWeights): number {
    return rate / samplesPerRate(metric, weights, this.#windowSeconds);
  }

  #first(rates: Rates, thresholds: Rates, weights: RowWeights, { from, deviate }: { from: number; deviate: number }) {
    for (let metric = 0; metric < METRICS.length; metric++) {
      const threshold = thresholds[metric] as number;
      const rate = rates[from + metric] as number;
      if (threshold === 0 || rate <= threshold) continue;
      const samples = this.samples(metric, rate, threshold, weights);
      if (samples === null || deviateOf(samples.seen, samples.expected) >= deviate) return metric;
    }
    return -1;
  }
}

/** Those of one direction of a row. */
export function weightsOf({ weights }: HostRows, row: number, direction: Direction): RowWeights {
  return { column: weights, from: weightsAt(row, direction) };
}

export function weightsAt(row: number, direction: Direction): number {
  return row * ROW_WEIGHTS.length + (direction === "incoming" ? 0 : WEIGHTS);
}

/** False: the rates are exact. */
export function isSampled({ column, from }: RowWeights): boolean {
  return (column[from] as number) > 0 || (column[from + 1] as number) > 0;
}

/** Half the width of the 95 % interval of each rate, as a fraction of it (Phaal and Panchen: 196 % × √(1/samples)). */
export interface RateErrors {
  readonly pps: number;
  readonly mbps: number;
}

/** null: the rates are exact, or 0. */
export function errorsOf(rates: Rates, weights: RowWeights, windowMs: number): RateErrors | null {
  if (!isSampled(weights)) return null;
  const [pps, mbps] = [errorOf(0, rates, weights, windowMs), errorOf(1, rates, weights, windowMs)];
  return Number.isFinite(pps) && Number.isFinite(mbps) ? { pps, mbps } : null;
}

/** The standard deviation of a rate from this number of samples, as a fraction of it; 0: it is exact, or there is no rate. */
export function relativeDeviation(samples: number): number {
  return samples === 0 ? 0 : 1 / Math.sqrt(samples);
}

/**
 * The number of samples of packets or of bytes, whichever is fewer, that counts were estimated from; Infinity: they are
 * exact.
 */
export function samplesOf(amounts: ArrayLike<number>, at: number, { column, from }: RowWeights): number {
  const [ofPackets, ofBytes] = [column[from] as number, column[from + 1] as number];
  return Math.min(
    ofPackets > 0 ? (amounts[at] as number) / ofPackets : Number.POSITIVE_INFINITY,
    ofBytes > 0 ? ((amounts[at + 1] as number) * BYTES_PER_MEGABIT) / ofBytes : Number.POSITIVE_INFINITY,
  );
}

/** Looks a second at a sliding rate that is the highest of them: as many as there are ticks by default. */
const LOOKS_PER_SECOND = 10;

/** The highest of many estimates. */
interface Highest {
  readonly rate: number;
  /** Its standard deviation, as that of one estimate; 0: it is exact. */
  readonly deviation: number;
  /** The time that has the estimates. */
  readonly seconds: number;
}

/**
 * Half the width of the 95 % interval of the highest of all rates in a time, as a fraction of the highest estimate. That is
 * too high by chance more often the more estimates there are: each may be wrong with a probability of 5 % over their number
 * (Bonferroni). null: it is exact, or there is no rate.
 */
export function errorOfHighest({ rate, deviation, seconds }: Highest): number | null {
  if (deviation === 0 || rate === 0) return null;
  const looks = Math.max(1, LOOKS_PER_SECOND * seconds);
  return (normalDeviate(0.025 / looks) * deviation) / rate;
}

function errorOf(metric: number, rates: Rates, weights: RowWeights, windowMs: number): number {
  return ERROR_DEVIATE / Math.sqrt((rates[metric] as number) * samplesPerRate(metric, weights, windowMs / 1000));
}

/** Infinity: the metric is exact. */
function samplesPerRate(metric: number, { column, from }: RowWeights, windowSeconds: number): number {
  // New flows are counted by sampled packets as well: a sampled SYN packet stands for as many flows as packets.
  const weight = column[IS_OF_BYTES[metric] ? from + 1 : from] as number;
  return ((IS_OF_BYTES[metric] ? BYTES_PER_MEGABIT : 1) * windowSeconds) / weight;
}

/**
 * How many standard deviations of a normal distribution are as improbable as at least `seen` samples where `expected`
 * are: the modified signed root r* (Barndorff-Nielsen 1986; Jensen 1992) of P(Poisson(expected) ≥ seen), which for a
 * fractional `seen` is the regularized gamma function P(seen, expected). The probability is exact to 2.3 %, and to 0.1 %
 * from one expected sample on. 0 if `seen` or more is more likely than not.
 */
export function deviateOf(seen: number, expected: number): number {
  const excess = seen - expected;
  if (excess <= 0) return 0;
  if (expected === 0) return Number.POSITIVE_INFINITY;
  const root = Math.sqrt(2 * Math.max(0, seen * Math.log(seen / expected) - excess));
  // Nearer to the mean the correction has no digits left, and nothing is judged there.
  if (root < 0.01) return 0;
  return Math.max(0, root + Math.log(excess / Math.sqrt(seen) / root) / root);
}

/** The standard normal deviate that is exceeded with this probability, up to 0.5 (Abramowitz and Stegun, 26.2.23). */
export function normalDeviate(probability: number): number {
  const t = Math.sqrt(-2 * Math.log(probability));
  const above = 2.515517 + t * (0.802853 + t * 0.010328);
  return t - above / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}
