import { beforeEach, expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { EVENT_KEYS_MAX, EventThrottle, THROTTLE_MS } from "./event-throttle.ts";

let clock: ManualClock;
let emitted: string[];
let throttle: EventThrottle<string>;

beforeEach(() => {
  clock = new ManualClock();
  emitted = [];
  throttle = new EventThrottle<string>(new ManualTimers(clock), (event) =>
    emitted.push(`${event} at ${clock.monotonicMs()}`),
  );
});

function offer(event: string, { key = "a", phase = "active" } = {}): void {
  throttle.offer({ key, phase, event });
}

test("the first goes out at once, of the next within a second the latest when it is over", () => {
  offer("1");
  for (let i = 2; i <= 9; i++) {
    clock.advance(100);
    offer(String(i));
  }
  expect(emitted).toEqual(["1 at 0"]);
  clock.advance(THROTTLE_MS);
  expect(emitted).toEqual(["1 at 0", "9 at 1000"]);
});

test("a continuously changing item is sent once a second", () => {
  for (let i = 0; i < 35; i++) {
    offer(String(i));
    clock.advance(100);
  }
  expect(emitted).toEqual(["0 at 0", "9 at 1000", "19 at 2000", "29 at 3000"]);
});

test("another phase goes out at once, and what was held back before it never", () => {
  offer("1");
  clock.advance(500);
  offer("2");
  offer("over", { phase: "ended" });
  clock.advance(10 * THROTTLE_MS);
  expect(emitted).toEqual(["1 at 0", "over at 500"]);
});

test("items are throttled separately", () => {
  offer("1");
  offer("2", { key: "b" });
  expect(emitted).toEqual(["1 at 0", "2 at 0"]);
});

test("a second after the last event nothing is left", () => {
  offer("1");
  clock.advance(THROTTLE_MS - 1);
  expect(clock.pending).toBe(1);
  clock.advance(1);
  expect(clock.pending).toBe(0);
  offer("2");
  expect(emitted).toEqual(["1 at 0", "2 at 1000"]);
});

test("cleared, it sends nothing more", () => {
  offer("1");
  offer("2");
  throttle.clear();
  clock.advance(10 * THROTTLE_MS);
  expect(emitted).toEqual(["1 at 0"]);
  expect(clock.pending).toBe(0);
});

test("items beyond its bound go out as they come", () => {
  const timers = { after: () => () => {} };
  throttle = new EventThrottle<string>(timers, (event) => emitted.push(event));
  for (let i = 0; i < EVENT_KEYS_MAX; i++) offer("first", { key: String(i) });
  for (const event of ["1", "2"]) offer(event, { key: "one more" });
  offer("held back", { key: "0" });
  expect(emitted.slice(EVENT_KEYS_MAX)).toEqual(["1", "2"]);
});
