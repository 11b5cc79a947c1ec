/**
 * A histogram of one label in plain numbers: the library's own takes as long for one observation as a small request does.
 * The text is the same.
 */
import type { Metric, Registry } from "prom-client";

interface Sums {
  /** By bucket, without those of the buckets before. */
  readonly counts: Float64Array;
  sum: number;
  count: number;
}

export interface LabelledHistogram {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

export class PlainHistogram {
  readonly #described: LabelledHistogram;
  /** By value of the label. */
  readonly #sums = new Map<string, Sums>();

  constructor(registry: Registry, described: LabelledHistogram) {
    this.#described = described;
    const { name, help } = described;
    const get = async () => ({ name, help, type: "histogram", values: this.#values(), aggregator: "sum" });
    // The registry asks no more of a metric.
    registry.registerMetric({ name, help, get } as unknown as Metric);
  }

  observe(value: string, measured: number): void {
    const { buckets } = this.#described;
    const sums = this.#sums.get(value) ?? this.#begin(value);
    let bucket = 0;
    while (bucket < buckets.length && measured > (buckets[bucket] as number)) bucket++;
    sums.counts[bucket] = (sums.counts[bucket] ?? 0) + 1;
    sums.sum += measured;
    sums.count++;
  }

  #begin(value: string): Sums {
    const sums: Sums = { counts: new Float64Array(this.#described.buckets.length + 1), sum: 0, count: 0 };
    this.#sums.set(value, sums);
    return sums;
  }

  #values() {
    const { name, label, buckets } = this.#described;
    return [...this.#sums].flatMap(([value, { counts, sum, count }]) => {
      let below = 0;
      const rows = buckets.map((le, i) => {
        below += counts[i] ?? 0;
        return { metricName: `${name}_bucket`, labels: { le, [label]: value }, value: below };
      });
      const own = { [label]: value };
      return [
        ...rows,
        { metricName: `${name}_bucket`, labels: { le: "+Inf", ...own }, value: count },
        { metricName: `${name}_sum`, labels: own, value: sum },
        { metricName: `${name}_count`, labels: own, value: count },
      ];
    });
  }
}
