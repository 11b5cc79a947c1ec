import { expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { SESSION_GRACE_MS, SessionNews } from "./session-news.ts";

function setup() {
  const clock = new ManualClock();
  const told: string[] = [];
  const news = new SessionNews({
    timers: new ManualTimers(clock),
    tell: (kind, { address, state }) => told.push(`${kind} ${address} ${state}`),
  });
  const be = (states: Record<string, string>) =>
    news.take(Object.entries(states).map(([address, state]) => ({ address, remoteAsn: 64501, state })));
  return { clock, told, news, be };
}

test("a session that never was up is no news", () => {
  const { clock, told, be } = setup();
  be({ a: "idle", b: "unknown" });
  be({ a: "connect", b: "idle" });
  clock.advance(2 * SESSION_GRACE_MS);
  expect(told).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("a session that comes up for the first time is no news", () => {
  const { told, be } = setup();
  be({ a: "idle" });
  be({ a: "established" });
  expect(told).toEqual([]);
});

test("a loss is told after the grace with the state of then, and the return at once", () => {
  const { clock, told, be } = setup();
  be({ a: "established", b: "established" });
  be({ a: "unknown", b: "established" });
  clock.advance(SESSION_GRACE_MS - 1);
  be({ a: "idle", b: "established" });
  expect(told).toEqual([]);
  clock.advance(1);
  expect(told).toEqual(["bgp_session_lost a idle"]);
  be({ a: "established", b: "established" });
  expect(told).toEqual(["bgp_session_lost a idle", "bgp_session_restored a established"]);
});

test("a session that is back within the grace was not lost", () => {
  const { clock, told, be } = setup();
  be({ a: "established" });
  be({ a: "unknown" });
  clock.advance(SESSION_GRACE_MS - 1);
  be({ a: "established" });
  clock.advance(2 * SESSION_GRACE_MS);
  expect(told).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("a neighbor that is configured no more is forgotten", () => {
  const { clock, told, be } = setup();
  be({ a: "established", b: "established" });
  be({ a: "idle", b: "established" });
  be({});
  clock.advance(2 * SESSION_GRACE_MS);
  be({ a: "idle", b: "idle" });
  clock.advance(2 * SESSION_GRACE_MS);
  expect(told).toEqual([]);
});

test("nothing is told once it is stopped", () => {
  const { clock, told, news, be } = setup();
  be({ a: "established" });
  be({ a: "idle" });
  news.stop();
  clock.advance(2 * SESSION_GRACE_MS);
  expect(told).toEqual([]);
  expect(clock.pending).toBe(0);
});
