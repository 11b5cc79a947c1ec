import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { BaselineTable, IDLE_SECONDS } from "./baseline-table.ts";

/** Keys 0, 1, 2, … that share most of their bytes, as addresses of one network do. */
function key(n: number): Uint8Array {
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint32(12, n);
  return bytes;
}

const table = (capacity: number, directions: 1 | 2 = 1) => new BaselineTable({ capacity, directions, seed: 7 });

describe("the table of what is normal", () => {
  test("finds what was added, each with values of its own", () => {
    const made = table(100, 2);
    for (let n = 0; n < 100; n++) {
      const row = made.findOrAdd(key(n), 0, 1000 + n);
      for (const direction of [0, 1]) {
        for (let i = 0; i < 3; i++) made.setNormal(row, direction, i, 10 * n + 3 * direction + i);
        made.setLearnedSeconds(row, direction, n + direction);
      }
    }
    for (let n = 0; n < 100; n++) {
      const row = made.find(key(n), 0);
      expect(made.lastTrafficSeconds(row)).toBe(1000 + n);
      expect([0, 1].map((direction) => made.learnedSeconds(row, direction))).toEqual([n, n + 1]);
      expect([0, 1, 2].map((i) => made.normal(row, 1, i))).toEqual([10 * n + 3, 10 * n + 4, 10 * n + 5]);
    }
    expect(made.find(key(100), 0)).toBe(-1);
  });

  test("finds every row and nothing else while its index grows, and when it is full", () => {
    const capacity = 50_000;
    const made = table(capacity);
    for (let n = 0; n < capacity; n++) {
      made.findOrAdd(key(n), 0, 0);
      // At each size of the index, before, while and after rows are moved to it.
      if (n % 1999 !== 0) continue;
      for (let known = n % 101; known <= n; known += 101)
        if (made.find(key(known), 0) !== known) throw new Error(`${known}`);
      expect(made.find(key(n + 1), 0)).toBe(-1);
    }
    expect(made.findOrAdd(key(capacity), 0, IDLE_SECONDS)).toBe(0);
    expect([made.count, made.find(key(0), 0), made.find(key(1), 0)]).toEqual([capacity, -1, 1]);
  });

  test("refuses keys while all rows have recent traffic, and counts them", () => {
    const made = table(4);
    for (let n = 0; n < 4; n++) made.findOrAdd(key(n), 0, 0);
    expect(made.findOrAdd(key(4), 0, IDLE_SECONDS - 1)).toBe(-1);
    expect([made.count, made.refused]).toEqual([4, 1]);
    expect(made.find(key(3), 0)).toBe(3);
  });

  test("gives the place of one that is silent for long, and of those the one that knows least", () => {
    const made = table(4);
    for (let n = 0; n < 4; n++)
      made.setLearnedSeconds(made.findOrAdd(key(n), 0, n === 1 ? IDLE_SECONDS : 0), 0, 50 - n);
    const row = made.findOrAdd(key(9), 0, IDLE_SECONDS);
    expect(row).toBe(3);
    expect([made.learnedSeconds(row, 0), made.normal(row, 0, 0), made.lastTrafficSeconds(row)]).toEqual([
      0,
      0,
      IDLE_SECONDS,
    ]);
    expect(made.find(key(3), 0)).toBe(-1);
    expect([0, 1, 2, 9].map((n) => made.find(key(n), 0))).toEqual([0, 1, 2, 3]);
  });

  test("finds exactly what it holds, however many come and go", () => {
    const seed = Number(process.env["SEED"] ?? Date.now() % 1e6);
    console.log(`seed ${seed}`);
    const random = seededRandom(seed);
    const made = table(64);
    for (let now = 0; now < 5000; now++) {
      const n = Math.floor(random() * 500);
      const row = made.findOrAdd(key(n), 0, now * 20);
      expect(row < 0 ? -1 : made.find(key(n), 0)).toBe(row);
    }
    const held = Array.from({ length: 500 }, (_, n) => made.find(key(n), 0)).filter((row) => row >= 0);
    expect(held.length).toBe(64);
    expect(new Set(held).size).toBe(64);
  });
});
