import { expect, test } from "bun:test";
import { Chance, seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { Tally } from "./tally.ts";

test("sums as a map does, in the order in which values came first", () => {
  const chance = new Chance(seededRandom(7));
  for (const most of [3, 70_000, 2 ** 45]) {
    const tally = new Tally();
    const sums = new Map<number, { weight: number; count: number }>();
    for (let i = 0; i < 2000; i++) {
      const [value, weight] = [chance.below(most), chance.random()];
      const { weight: before, count } = sums.get(value) ?? { weight: 0, count: 0 };
      sums.set(value, { weight: before + weight, count: count + 1 });
      expect(tally.values[tally.add(value, weight)]).toBe(value);
    }
    expect(tally.values).toEqual([...sums.keys()]);
    expect(tally.weights).toEqual([...sums.values()].map(({ weight }) => weight));
    expect(tally.counts).toEqual([...sums.values()].map(({ count }) => count));
    const [first = 0] = tally.values;
    expect([tally.indexOf(first), tally.weightOf(first)]).toEqual([0, sums.get(first)?.weight ?? 0]);
    expect([tally.indexOf(2 ** 46), tally.weightOf(2 ** 46)]).toEqual([-1, 0]);
  }
});
