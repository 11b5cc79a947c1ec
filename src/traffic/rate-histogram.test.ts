import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { RateHistogram } from "./rate-histogram.ts";

function of(rates: readonly number[]): RateHistogram {
  const histogram = new RateHistogram();
  for (const rate of rates) histogram.add(rate);
  return histogram;
}

describe("a histogram of rates", () => {
  test("gives quantiles that are never too low, and up to 9 % too high", () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = seededRandom(seed);
    const rates = Array.from({ length: 5000 }, () => 10 ** (8 * random() - 2));
    const sorted = [...rates].sort((a, b) => a - b);
    const histogram = of(rates);
    for (const share of [0.01, 0.5, 0.99, 0.999]) {
      const exact = sorted[Math.ceil(share * sorted.length) - 1] as number;
      const estimate = histogram.quantile(share);
      if (estimate < exact || estimate > exact * 2 ** (1 / 8) * (1 + 1e-9))
        throw new Error(`seed ${seed}: ${share} ${estimate} ${exact}`);
    }
  });

  test("is never above the peak, and at it for the share of all", () => {
    expect(of([1000]).quantile(0.5)).toBe(1000);
    expect(of([1, 2, 1000]).quantile(1)).toBe(1000);
  });

  test("counts no silence, and is zero without anything", () => {
    expect(of([]).quantile(0.99)).toBe(0);
    expect(of([0, 0, 0, 7]).quantile(0.01)).toBe(7);
  });

  test("takes what is out of its range for its ends", () => {
    expect(of([1e-9]).quantile(0.5)).toBe(1e-9);
    expect(of([1e15, 1e16]).peak).toBe(1e16);
    expect(of([1e15, 1e16]).quantile(0.1)).toBeLessThanOrEqual(1e16);
  });

  test("addToPeak() updates only the peak", () => {
    const histogram = of([10, 10]);
    histogram.addToPeak(50);
    expect(histogram.peak).toBe(50);
    expect(histogram.quantile(1)).toBeLessThan(11);
  });
});
