/**
 * The time over which rates of sampled traffic are computed: as many ticks as hold enough samples that the error of a rate is
 * bounded. Pure. Knows nothing of attacks.
 */

/** Two-sided 95 % of the standard normal distribution, over the error that is allowed: so a peak is right within 10 %. */
const SAMPLES_LEAST = Math.ceil((1.96 / 0.1) ** 2);

interface Sum {
  spanMs: number;
  samples: number;
  readonly amounts: Float64Array;
}

interface SampledRates {
  readonly spanMs: number;
  readonly amounts: ArrayLike<number>;
  /** From which they are computed. */
  readonly samples: number;
  /** False: too few samples came so far. */
  readonly isBounded: boolean;
}

/** Two blocks of ticks, the last one that was full and the one that grows: rates are computed from both together. */
export class SampledSpan {
  #full: Sum;
  #growing: Sum;
  readonly #both: Float64Array;

  /** @param width amounts of a tick. */
  constructor(width: number) {
    this.#full = { spanMs: 0, samples: 0, amounts: new Float64Array(width) };
    this.#growing = { spanMs: 0, samples: 0, amounts: new Float64Array(width) };
    this.#both = new Float64Array(width);
  }

  /**
   * Adds one tick; what is returned is valid until the next call.
   *
   * @param samples from which the packets of the tick are estimated; Infinity: they are exact.
   * @param amounts of the tick, from `from` on.
   */
  add(spanMs: number, samples: number, amounts: ArrayLike<number>, from: number): SampledRates {
    const [full, growing] = [this.#full, this.#growing];
    growing.spanMs += spanMs;
    growing.samples += samples;
    for (let i = 0; i < growing.amounts.length; i++) {
      growing.amounts[i] = (growing.amounts[i] as number) + (amounts[from + i] as number);
      this.#both[i] = (growing.amounts[i] as number) + (full.amounts[i] as number);
    }
    const both = full.samples + growing.samples;
    const isBounded = both >= SAMPLES_LEAST;
    const rates = { spanMs: full.spanMs + growing.spanMs, amounts: this.#both, samples: both, isBounded };
    if (growing.samples < SAMPLES_LEAST) return rates;
    full.spanMs = full.samples = 0;
    full.amounts.fill(0);
    [this.#full, this.#growing] = [growing, full];
    return { ...rates, spanMs: growing.spanMs, amounts: growing.amounts, samples: growing.samples };
  }
}
