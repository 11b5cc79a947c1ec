import { expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { UnsavedRecords } from "../system/unsaved-records.ts";
import { WriteBehind } from "./write-behind.ts";

/** Counts the writes to a disk that refuses them while it is full. */
function harness(pieceMax?: number) {
  const clock = new ManualClock();
  const stored = new Map<string, number>();
  const disk = { isFull: false, writes: 0, faults: 0 };
  const records = new UnsavedRecords<number | null>({
    write: (record, name) => void (record === null ? stored.delete(name) : stored.set(name, record)),
    atOnce: (writes) => {
      disk.writes++;
      if (disk.isFull) throw new Error("disk full");
      writes();
    },
    onUnsaved: () => writeBehind.schedule(),
    onStoreFault: () => disk.faults++,
    ...(pieceMax === undefined ? {} : { pieceMax }),
  });
  const writeBehind = new WriteBehind(new ManualTimers(clock), [records]);
  return { clock, stored, disk, records, writeBehind };
}

test("changes of a moment are written at once, some milliseconds later", () => {
  const { clock, stored, disk, records } = harness();
  for (const name of ["a", "b"]) records.queue(name, 1);
  expect(stored.size).toBe(0);
  clock.advance(100);
  expect([...stored.keys()]).toEqual(["a", "b"]);
  expect(disk.writes).toBe(1);
  expect(clock.pending).toBe(0);
});

test("a record that is over leaves the disk", () => {
  const { clock, stored, records } = harness();
  stored.set("a", 1);
  records.queue("a", null);
  clock.advance(100);
  expect(stored.size).toBe(0);
});

test("what a full disk refused waits, in its last state, until there is room", () => {
  const { clock, stored, disk, records } = harness();
  disk.isFull = true;
  records.queue("a", 1);
  clock.advance(5000);
  expect(records.unsaved).toBe(1);
  expect(disk.faults).toBeGreaterThan(1);
  records.queue("a", 7);
  disk.isFull = false;
  clock.advance(1000);
  expect(stored.get("a")).toBe(7);
  expect(records.unsaved).toBe(0);
  expect(clock.pending).toBe(0);
});

test("what is written now takes with it what waits, or all stays as it was", () => {
  const { stored, disk, records } = harness();
  records.queue("a", 1);
  disk.isFull = true;
  expect(() => records.writeNow([["b", 2]])).toThrow("disk full");
  expect([records.unsaved, records.has("b"), disk.faults]).toEqual([1, false, 1]);
  disk.isFull = false;
  records.writeNow([["b", 2]]);
  expect([...stored]).toEqual([
    ["a", 1],
    ["b", 2],
  ]);
  expect(records.unsaved).toBe(0);
});

test("in pieces a flush writes one of them, and what is written now goes alone", () => {
  const { clock, stored, disk, records } = harness(2);
  for (const name of ["a", "b", "c"]) records.queue(name, 1);
  records.writeNow([["c", 2]]);
  expect([...stored]).toEqual([["c", 2]]);
  records.queue("d", 1);
  clock.advance(100);
  expect([stored.has("a"), stored.has("b"), stored.has("d"), records.unsaved]).toEqual([true, true, false, 1]);
  clock.advance(1000);
  expect([stored.has("d"), disk.writes, clock.pending]).toEqual([true, 3, 0]);
});

test("a stop writes what waits and leaves no timer", () => {
  const { clock, stored, records, writeBehind } = harness();
  records.queue("a", 1);
  writeBehind.stop();
  expect(stored.size).toBe(1);
  expect(clock.pending).toBe(0);
});
