import { expect, test } from "bun:test";
import { ManualClock } from "../../../test/fixtures/manual-clock.ts";
import { EVENT_KEYS_MAX } from "../../limits.ts";
import { nextTurn } from "../../system/timers.ts";
import { SLICE_MS } from "../table-pass.ts";
import { EventSlices } from "./event-slices.ts";

/** What each event costs, ms. */
const COST_MS = 1;

function setup() {
  const clock = new ManualClock();
  const sent: number[] = [];
  const slices = new EventSlices<number>({ clock, nextTurn }, (event) => {
    clock.advance(COST_MS);
    sent.push(event);
  });
  return { sent, slices };
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
