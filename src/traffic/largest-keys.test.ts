import { expect, test } from "bun:test";
import { longRandom } from "../../test/fixtures/seeded-random.ts";
import { LargestKeys } from "./largest-keys.ts";

test("few keys are counted exactly, and taken once, the largest first", () => {
  const keys = new LargestKeys(4);
  for (const [key, bytes] of [
    ["a", 10],
    ["b", 30],
    ["a", 15],
    ["c", 1],
  ] as const)
    keys.add(key, 1, bytes);
  expect(keys.take(2)).toEqual([
    { key: "b", packets: 1, bytes: 30 },
    { key: "a", packets: 2, bytes: 25 },
  ]);
  expect(keys.take(2)).toEqual([]);
});

test("of more keys than fit, none is counted too high, and none too low by more than its part of all", () => {
  const seed = 20_261_126;
  const random = longRandom(seed);
  const keys = new LargestKeys(32);
  const exact = new Map<string, number>();
  let all = 0;
  for (let i = 0; i < 30_000; i++) {
    // A few large ones in a crowd of small ones, which are mostly new.
    const key = random() < 0.4 ? `large ${Math.floor(random() * 20)}` : `small ${Math.floor(random() * 5000)}`;
    const bytes = 40 + Math.floor(random() * 1460);
    keys.add(key, 1, bytes);
    exact.set(key, (exact.get(key) ?? 0) + bytes);
    all += bytes;
  }
  const found = new Map(keys.take(64).map(({ key, bytes }) => [key, bytes]));
  for (const [key, bytes] of exact) {
    const counted = found.get(key) ?? 0;
    expect(counted, `${key}, seed ${seed}`).toBeLessThanOrEqual(bytes + 1e-6 * bytes);
    if (found.has(key) || bytes > all / 32)
      expect(bytes - counted, `${key}, seed ${seed}`).toBeLessThanOrEqual(all / 32);
  }
});
