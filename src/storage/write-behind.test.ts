import { expect, test } from "bun:test";
import { attack, NOON } from "../../test/fixtures/browser/views.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { UnsavedAttacks } from "./unsaved-attacks.ts";
import { WriteBehind } from "./write-behind.ts";

/** The attacks of a disk that refuses writes while it is full. */
function harness() {
  const clock = new ManualClock();
  const stored = new Map<string, Attack>();
  const disk = { isFull: false, writes: 0, faults: 0 };
  const state = {
    saveAttack: (saved: Attack) => void stored.set(saved.id, saved),
    removeAttack: (id: string) => void stored.delete(id),
    atOnce: (writes: () => void) => {
      disk.writes++;
      if (disk.isFull) throw new Error("disk full");
      writes();
    },
  };
  const attacks = new UnsavedAttacks(state, () => disk.faults++);
  const writeBehind = new WriteBehind(new ManualTimers(clock), [attacks]);
  return { clock, stored, disk, attacks, writeBehind };
}

test("changes of a moment are written at once, some milliseconds later", () => {
  const { clock, stored, disk, attacks, writeBehind } = harness();
  for (const id of ["a1", "a2"]) {
    attacks.add(attack({ id }));
    writeBehind.soon();
  }
  expect(stored.size).toBe(0);
  clock.advance(100);
  expect([...stored.keys()]).toEqual(["a1", "a2"]);
  expect(disk.writes).toBe(1);
  expect(clock.pending).toBe(0);
});

test("an attack that is over leaves the disk", () => {
  const { clock, stored, attacks, writeBehind } = harness();
  stored.set("a1", attack());
  attacks.add(attack({ endedAt: NOON }));
  writeBehind.soon();
  clock.advance(100);
  expect(stored.size).toBe(0);
});

test("what a full disk refused waits, in its last state, until there is room", () => {
  const { clock, stored, disk, attacks, writeBehind } = harness();
  disk.isFull = true;
  attacks.add(attack());
  writeBehind.soon();
  clock.advance(5000);
  expect(attacks.unsaved).toBe(1);
  expect(disk.faults).toBeGreaterThan(1);
  attacks.add(attack({ threshold: 7 }));
  disk.isFull = false;
  clock.advance(1000);
  expect(stored.get("a1")?.threshold).toBe(7);
  expect(attacks.unsaved).toBe(0);
  expect(clock.pending).toBe(0);
});

test("a stop writes what waits and leaves no timer", () => {
  const { clock, stored, attacks, writeBehind } = harness();
  attacks.add(attack());
  writeBehind.soon();
  writeBehind.stop();
  expect(stored.size).toBe(1);
  expect(clock.pending).toBe(0);
});
