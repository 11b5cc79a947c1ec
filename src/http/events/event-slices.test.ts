import { expect, test } from "bun:test";
import { ManualClock } from "../../../test/fixtures/manual-clock.ts";
import { nextTurn } from "../../system/timers.ts";
import { SLICE_MS } from "../table-pass.ts";
import { EventSlices } from "./event-slices.ts";
import { EVENT_KEYS_MAX } from "./event-throttle.ts";

/** What each event costs, ms. */
const COST_MS = 1;

function setup(failing: readonly number[] = []) {
  const clock = new ManualClock();
  const sent: number[] = [];
  const faults: unknown[] = [];
  const send = (event: number) => {
    clock.advance(COST_MS);
    if (failing.includes(event)) throw new Error(`${event} cannot be written`);
    sent.push(event);
  };
  const slices = new EventSlices<number>({ clock, nextTurn }, send, (cause) => faults.push(cause));
  return { sent, slices, faults };
}

test("events of one turn are sent in several, in their order", async () => {
  const { sent, slices } = setup();
  for (let i = 0; i < 10; i++) slices.push(i);
  const counts = [sent.length];
  while (sent.length < 10) {
    await nextTurn();
    counts.push(sent.length);
  }
  expect(counts).toEqual([2, 4, 6, 8, 10].map((count) => (count * SLICE_MS) / 2 / COST_MS));
  expect(sent).toEqual(Array.from({ length: 10 }, (_, i) => i));
});

test("those that wait are bounded, and none is lost", () => {
  const { sent, slices } = setup();
  for (let i = 0; i < EVENT_KEYS_MAX + 10; i++) slices.push(i);
  expect(sent.length).toBeGreaterThan(EVENT_KEYS_MAX);
  expect(sent).toEqual(sent.map((_, i) => i));
});

test("what is cleared is not sent, and what comes later is", async () => {
  const { sent, slices } = setup();
  for (let i = 0; i < 10; i++) slices.push(i);
  slices.clear();
  await nextTurn();
  slices.push(10);
  expect(sent).toEqual([0, 1, 10]);
});

test("those after one that cannot be written are sent, in its turn and in later ones", async () => {
  const { sent, slices, faults } = setup([0, 4, 9]);
  for (let i = 0; i < 10; i++) slices.push(i);
  for (let turn = 0; turn < 10 / SLICE_MS; turn++) await nextTurn();
  expect(sent).toEqual([1, 2, 3, 5, 6, 7, 8]);
  expect(faults.map(String)).toEqual([0, 4, 9].map((event) => `Error: ${event} cannot be written`));
});
