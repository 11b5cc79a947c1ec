/**
 * A histogram of rates in a fixed number of steps of 9 %: quantiles of any number of values in 3 kB. Rates of zero are
 * not counted, since the amount of silence is arbitrary.
 */

const STEPS_PER_OCTAVE = 8;
/** The smallest and the largest distinguished rate, as powers of two. */
const LOWEST = -10;
const HIGHEST = 40;
const STEPS = (HIGHEST - LOWEST) * STEPS_PER_OCTAVE;

export class RateHistogram {
  readonly #counts = new Float64Array(STEPS);
  #total = 0;
  peak = 0;

  /** Updates only the peak: values in between are not independent samples. */
  addToPeak(rate: number): void {
    if (rate > this.peak) this.peak = rate;
  }

  add(rate: number): void {
    if (!(rate > 0)) return;
    this.addToPeak(rate);
    const step = Math.floor((Math.log2(rate) - LOWEST) * STEPS_PER_OCTAVE);
    const at = Math.min(STEPS - 1, Math.max(0, step));
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#total++;
  }

  /**
   * A rate that at least `share` of the values do not exceed; up to 9 % too high, never above the peak. 0: no values.
   */
  quantile(share: number): number {
    let left = share * this.#total;
    for (let step = 0; step < STEPS; step++) {
      left -= this.#counts[step] as number;
      if (left <= 0 && this.#total > 0) return Math.min(this.peak, 2 ** (LOWEST + (step + 1) / STEPS_PER_OCTAVE));
    }
    return this.peak;
  }
}
