import { beforeEach, describe, expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { nextTurn } from "../system/timers.ts";
import { StorageFault } from "./storage-fault.ts";
import { HISTORY_TRIES_MAX, type WriteOutcome, WriteQueue } from "./write-queue.ts";

const AWAY = new StorageFault("write", "unavailable", "away");
const REFUSED = new StorageFault("write", "refused", "no such column");

let clock: ManualClock;
let written: number[][];
/** The results of the next writes; null: success. */
let fate: (Error | null)[];
let faults: unknown[];
let dropped: number;
let depths: number[];
let release: (() => void) | null;
let isHeld: boolean;
let queue: WriteQueue<number>;

beforeEach(() => {
  clock = new ManualClock();
  [written, fate, faults, dropped, depths, release, isHeld] = [[], [], [], 0, [], null, false];
  queue = queueOf(0);
});

function queueOf(gatherMs: number): WriteQueue<number> {
  return new WriteQueue<number>({
    bound: 4,
    batch: 2,
    gatherMs,
    timers: new ManualTimers(clock),
    write: async (records) => {
      if (isHeld) await new Promise<void>((resolve) => (release = resolve));
      const fault = fate.shift() ?? null;
      if (fault !== null) throw fault;
      written.push([...records]);
    },
    onFault: (cause) => faults.push(cause),
    onDropped: (records) => {
      dropped += records;
    },
    onDepth: (records) => depths.push(records),
  });
}

/** Runs all promises that can continue. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await nextTurn();
}

describe("a write queue", () => {
  test("writes in order, in batches, and says what is stored", async () => {
    expect(await Promise.all([1, 2, 3].map((record) => queue.push(record)))).toEqual(["stored", "stored", "stored"]);
    expect(written).toEqual([[1, 2], [3]]);
    expect(depths).toEqual([1, 2, 3, 1, 0]);
  });

  test("takes as many as its bound, those being written included, and drops the next", async () => {
    isHeld = true;
    const outcomes: WriteOutcome[] = [];
    for (const record of [1, 2, 3, 4]) void queue.push(record).then((outcome) => outcomes.push(outcome));
    await settle();
    expect([queue.depth, dropped]).toEqual([4, 0]);
    expect(await queue.push(5)).toBe("dropped");
    expect([queue.depth, dropped, outcomes]).toEqual([4, 1, []]);
    isHeld = false;
    release?.();
    await settle();
    expect(written).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(await queue.push(6)).toBe("stored");
  });

  test("keeps what does not reach the store, and pauses longer with each failure", async () => {
    fate = Array.from({ length: 8 }, () => AWAY);
    const outcome = queue.push(1);
    await settle();
    for (const [i, pauseMs] of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000].entries()) {
      expect(faults).toHaveLength(i + 1);
      clock.advance(pauseMs - 1);
      await settle();
      expect(faults).toHaveLength(i + 1);
      clock.advance(1);
      await settle();
    }
    expect(await outcome).toBe("stored");
    expect([written, dropped]).toEqual([[[1]], 0]);
  });

  test("drops a batch that the store refuses time and again, and goes on with the next", async () => {
    fate = Array.from({ length: HISTORY_TRIES_MAX }, () => REFUSED);
    const outcomes = Promise.all([1, 2, 3].map((record) => queue.push(record)));
    await settle();
    for (let i = 1; i < HISTORY_TRIES_MAX; i++) {
      clock.advance(30_000);
      await settle();
    }
    expect(await outcomes).toEqual(["dropped", "dropped", "stored"]);
    expect([written, dropped, queue.isFailing]).toEqual([[[3]], 2, false]);
  });

  test("tries again at once when it is woken", async () => {
    fate = [AWAY];
    const outcome = queue.push(1);
    await settle();
    expect([written, queue.isFailing]).toEqual([[], true]);
    queue.wake();
    expect(await outcome).toBe("stored");
    expect(queue.isFailing).toBe(false);
    expect(clock.pending).toBe(0);
  });

  describe("that gathers", () => {
    beforeEach(() => {
      queue = queueOf(200);
    });

    test("writes what came within its time at once", async () => {
      const first = queue.push(1);
      await settle();
      clock.advance(199);
      await settle();
      expect([written, queue.depth]).toEqual([[], 1]);
      clock.advance(1);
      expect(await first).toBe("stored");
      expect([written, clock.pending]).toEqual([[[1]], 0]);
    });

    test("does not wait once a batch is full, and waits again for the next", async () => {
      const [first, second, third] = [queue.push(1), queue.push(2), queue.push(3)];
      expect(await Promise.all([first, second])).toEqual(["stored", "stored"]);
      await settle();
      expect([written, queue.depth]).toEqual([[[1, 2]], 1]);
      void queue.push(4);
      expect(await third).toBe("stored");
      expect([written, clock.pending]).toEqual([
        [
          [1, 2],
          [3, 4],
        ],
        0,
      ]);
    });

    test("tries a write that failed again after its pause alone", async () => {
      fate = [AWAY];
      const outcome = queue.push(1);
      await settle();
      clock.advance(200);
      await settle();
      expect(faults).toHaveLength(1);
      clock.advance(1000);
      expect(await outcome).toBe("stored");
    });

    test("drained or closed, waits for nothing", async () => {
      void queue.push(1);
      await settle();
      await queue.drain();
      expect([written, queue.depth, clock.pending]).toEqual([[[1]], 0, 0]);
      queue = queueOf(200);
      const lost = queue.push(2);
      await settle();
      queue.close();
      expect(await lost).toBe("dropped");
      await settle();
      expect([written, clock.pending]).toEqual([[[1]], 0]);
    });
  });

  test("drains: what waits is written, a failure ends it", async () => {
    fate = [AWAY];
    void queue.push(1);
    await settle();
    await queue.drain();
    expect([written, queue.depth, clock.pending]).toEqual([[[1]], 0, 0]);
    fate = [AWAY];
    const outcome = queue.push(2);
    await queue.drain();
    expect([queue.depth, clock.pending]).toEqual([1, 0]);
    queue.close();
    expect(await outcome).toBe("dropped");
    expect(await queue.push(3)).toBe("dropped");
    expect(dropped).toBe(2);
  });
});

test("in a full queue the newest of the tenant with the most is dropped, never one of the administrator", async () => {
  const outcomes: string[] = [];
  isHeld = true;
  const shared = new WriteQueue<string>({
    ...{ bound: 4, batch: 1, gatherMs: 0, timers: new ManualTimers(clock) },
    tenantOf: (record) => (record.startsWith("admin") ? null : (record[0] ?? null)),
    write: async () => new Promise<void>((resolve) => (release = resolve)),
    onFault: () => {},
    onDropped: (records) => (dropped += records),
    onDepth: () => {},
  });
  const push = (record: string) => void shared.push(record).then((outcome) => outcomes.push(`${record} ${outcome}`));
  push("a1");
  await nextTurn();
  for (const record of ["a2", "a3", "a4", "b1", "admin1", "admin2", "admin3", "a5"]) push(record);
  await nextTurn();
  // The first is being written; admin3 takes the place of the last tenant's.
  expect(outcomes.sort()).toEqual(["a2 dropped", "a3 dropped", "a4 dropped", "a5 dropped", "b1 dropped"]);
  expect([dropped, shared.depth]).toEqual([5, 4]);
});
