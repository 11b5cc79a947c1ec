/** The sums of the prefixes of one attack, added leaf by leaf. */
import { METRICS } from "../../traffic/rates.ts";
import { type RowWeights, WEIGHTS } from "../certainty/sampling.ts";
import { type CarpetScan, hostsOfEqualRates, type Leaf } from "./carpet-scan.ts";

export class CarpetSums {
  readonly leaves: Leaf[] = [];
  /** The largest prefix sum of each metric. */
  readonly most: number[] = new Array<number>(METRICS.length).fill(0);
  readonly rates: number[] = new Array<number>(METRICS.length).fill(0);
  readonly #variances: number[] = new Array<number>(WEIGHTS).fill(0);
  readonly #squares: number[] = new Array<number>(METRICS.length).fill(0);

  add(leaf: Leaf, scan: CarpetScan): void {
    this.leaves.push(leaf);
    for (let metric = 0; metric < METRICS.length; metric++) {
      const rate = scan.sum(leaf, metric);
      if (rate === 0) continue;
      this.most[metric] = Math.max(this.most[metric] as number, rate);
      (this.rates[metric] as number) += rate;
      (this.#squares[metric] as number) += scan.squares(leaf, metric);
    }
    for (let i = 0; i < WEIGHTS; i++) (this.#variances[i] as number) += scan.variance(leaf, i);
  }

  /** The number of packets or bytes that one sample of the sums stands for. */
  get weights(): RowWeights {
    return { column: this.#variances.map((variance, i) => variance / ((this.rates[i] as number) || 1)), from: 0 };
  }

  hosts(metric: number): number {
    return hostsOfEqualRates(this.rates[metric] as number, this.#squares[metric] as number);
  }
}
