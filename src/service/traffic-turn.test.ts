import { beforeEach, expect, test } from "bun:test";
import type { TrafficSnapshot } from "../traffic/traffic-history.ts";
import { KEPT_MS, TrafficTurn } from "./traffic-turn.ts";

let nowMs: number;
let holds: boolean;
let stored: number[];
let turn: TrafficTurn;

const take = (atMs: number) => turn.take({ atMs } as unknown as TrafficSnapshot);

beforeEach(() => {
  [nowMs, holds, stored] = [0, true, []];
  turn = new TrafficTurn({
    lease: { holds: () => holds },
    store: async (snapshot) => void stored.push((snapshot as unknown as { atMs: number }).atMs),
    monotonicMs: () => nowMs,
  });
});

test("the holder writes each interval once", async () => {
  for (const at of [1, 2, 3]) await take(at);
  expect(stored).toEqual([1, 2, 3]);
});

test("another brain writes nothing, and its last intervals when the lease is its own", async () => {
  holds = false;
  for (const at of [1, 2, 3]) {
    await take(at);
    nowMs += KEPT_MS / 2;
  }
  expect(stored).toEqual([]);
  holds = true;
  await take(4);
  expect(stored).toEqual([2, 3, 4]);
});

test("an interval that is longer than what is kept is written as it comes", async () => {
  holds = false;
  await take(1);
  nowMs += 10 * KEPT_MS;
  holds = true;
  await take(2);
  expect(stored).toEqual([2]);
});

test("of short intervals the last ones are kept", async () => {
  holds = false;
  for (let i = 0; i < 100; i++) await take(i);
  holds = true;
  await take(100);
  expect(stored).toEqual(Array.from({ length: 12 }, (_, i) => 89 + i));
});
