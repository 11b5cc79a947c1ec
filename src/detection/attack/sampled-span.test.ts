import { expect, test } from "bun:test";
import { SampledSpan } from "./sampled-span.ts";

/** The rates after ticks of 100 ms with these numbers of samples, of 1000 packets each. */
function rates(samples: readonly number[]) {
  const span = new SampledSpan(1);
  return samples.map((count) => {
    const { spanMs, amounts, isBounded } = span.add(100, count, [1000 * count], 0);
    return [spanMs, (1000 * (amounts[0] as number)) / spanMs, isBounded];
  });
}

test("a tick with enough samples has its own rate", () => {
  expect(rates([400, 800])).toEqual([
    [100, 4_000_000, true],
    [100, 8_000_000, true],
  ]);
});

test("a rate is computed from as many ticks as hold enough samples, and is not bounded before", () => {
  expect(rates([150, 150, 150, 150, 150, 150, 300])).toEqual([
    [100, 1_500_000, false],
    [200, 1_500_000, false],
    [300, 1_500_000, true],
    [400, 1_500_000, true],
    [500, 1_500_000, true],
    [300, 1_500_000, true],
    [400, 1_875_000, true],
  ]);
});
