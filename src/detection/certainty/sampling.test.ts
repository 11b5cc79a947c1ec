import { describe, expect, test } from "bun:test";
import { thresholds } from "../../../test/fixtures/host-rows.ts";
import { deviateOf, errorsOf, normalDeviate, SamplingRule } from "./sampling.ts";

const RULE = new SamplingRule({ windowMs: 1000, confidence: 0.99999999 });

/** P(Poisson(expected) ≥ seen), summed. */
function poissonTail(seen: number, expected: number): number {
  let term = Math.exp(-expected + seen * Math.log(expected) - logFactorial(seen));
  let sum = 0;
  for (let n = seen; term > sum * 1e-17 || n < expected; n++) {
    sum += term;
    term *= expected / (n + 1);
  }
  return sum;
}

function logFactorial(n: number): number {
  let sum = 0;
  for (let i = 2; i <= n; i++) sum += Math.log(i);
  return sum;
}

describe("the deviate of a number of samples", () => {
  test("is that of the exact probability, for every size and far into the tail", () => {
    for (const expected of [0.001, 0.01, 0.1, 1, 3, 10, 30, 100, 1000, 20_000]) {
      for (const deviations of [0.5, 1, 2, 4, 6, 8]) {
        const seen = Math.ceil(expected + deviations * Math.sqrt(expected)) + 1;
        const probability = poissonTail(seen, expected);
        if (probability > 0.4 || probability < 1e-16) continue;
        // The density changes by this factor with a unit of the deviate, so that the difference is one of probability.
        const exact = normalDeviate(probability);
        const relative = Math.abs(deviateOf(seen, expected) - exact) * (exact + 1 / (1 + exact));
        expect(relative, `${seen} of ${expected}`).toBeLessThan(0.03);
      }
    }
  });

  test("rises with the samples, is 0 up to the mean, and infinite where none is expected", () => {
    expect([deviateOf(9, 10), deviateOf(10, 10), deviateOf(0, 0)]).toEqual([0, 0, 0]);
    expect(deviateOf(1, 0)).toBe(Number.POSITIVE_INFINITY);
    for (const expected of [0.05, 2, 1e6]) {
      let before = 0;
      for (let i = 1; i < 400; i++) {
        const deviate = deviateOf(expected + i * 0.01 * Math.sqrt(expected), expected);
        expect(deviate).toBeGreaterThanOrEqual(before);
        before = deviate;
      }
    }
  });

  test("of a probability agrees with tables of the normal distribution", () => {
    for (const [probability, deviate] of [
      [0.5, 0],
      [0.025, 1.95996],
      [0.001, 3.09023],
      [1e-6, 4.75342],
      [1e-9, 5.99781],
    ] as const) {
      expect(normalDeviate(probability)).toBeCloseTo(deviate, 2);
    }
  });
});

describe("a sampled rate", () => {
  const above = (rates: Record<string, number>, limits: Record<string, number>, weights: readonly number[]) =>
    RULE.firstCertain(thresholds(rates), thresholds(limits), { column: weights, from: 0 });

  test("of two samples of 10,000 packets is above no threshold, and of a dozen above that of one", () => {
    expect(above({ pps: 20_000 }, { pps: 1000 }, [10_000, 1e7])).toBe(-1);
    expect(above({ pps: 110_000 }, { pps: 10_000 }, [10_000, 1e7])).toBe(-1);
    expect(above({ pps: 120_000 }, { pps: 10_000 }, [10_000, 1e7])).toBe(0);
  });

  test("of megabits is judged by its bytes, and of flows by its packets", () => {
    // One expected sample of 1250 bytes each at 100 Mbit/s, of which ten thousand pass.
    expect(above({ mbps: 1100 }, { mbps: 100 }, [1, 12_500_000])).toBe(-1);
    expect(above({ mbps: 1200 }, { mbps: 100 }, [1, 12_500_000])).toBe(1);
    expect(above({ flows_per_sec: 20_000 }, { flows_per_sec: 1000 }, [10_000, 1])).toBe(-1);
  });

  test("is judged by the first metric that is certain, and exact rates as they are", () => {
    expect(above({ pps: 20_000, tcp_syn_pps: 1001 }, { pps: 1000, tcp_syn_pps: 1000 }, [0, 0])).toBe(0);
    expect(above({ pps: 1200, udp_pps: 200 }, { pps: 1000, udp_pps: 10 }, [10, 10_000])).toBe(5);
    expect(above({ pps: 1000.001 }, { pps: 1000 }, [0, 0])).toBe(0);
    expect(above({ pps: 1000 }, { pps: 1000 }, [0, 0])).toBe(-1);
    expect(above({ pps: 1e9 }, {}, [10, 10])).toBe(-1);
  });

  test("is judged by the samples of its window, however long that is", () => {
    const rule = new SamplingRule({ windowMs: 100, confidence: 0.99999999 });
    const weights = { column: [10_000, 1e7], from: 0 };
    // A tenth of the window is a tenth of the samples: three of them where 0.1 are expected.
    expect(rule.firstCertain(thresholds({ pps: 300_000 }), thresholds({ pps: 10_000 }), weights)).toBe(-1);
    expect(rule.firstCertain(thresholds({ pps: 600_000 }), thresholds({ pps: 10_000 }), weights)).toBe(0);
  });

  test("keeps an attack in progress with fewer samples than start one", () => {
    const lasts = (pps: number, weight: number) =>
      RULE.isLasting(thresholds({ pps }), thresholds({ pps: 10_000 }), { column: [weight, 0], from: 0 });
    expect([lasts(40_000, 10_000), lasts(50_000, 10_000)]).toEqual([false, true]);
    expect([lasts(10_000, 0), lasts(10_001, 0)]).toEqual([false, true]);
  });

  test("has the error of InMon's formula, 196 % × √(1/samples)", () => {
    const weights = { column: [1000, 1e6], from: 0 };
    const errors = errorsOf(thresholds({ pps: 100_000, mbps: 800 }), weights, 1000);
    expect(errors?.pps).toBeCloseTo(0.196, 6);
    expect(errors?.mbps).toBeCloseTo(0.196, 6);
    expect(errorsOf(thresholds({ pps: 100_000 }), { column: [0, 0], from: 0 }, 1000)).toBeNull();
    expect(errorsOf(thresholds({}), weights, 1000)).toBeNull();
  });
});
