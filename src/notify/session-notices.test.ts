import { expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { SESSION_GRACE_MS, SessionNotices } from "./session-notices.ts";

function setup() {
  const clock = new ManualClock();
  const notices: string[] = [];
  const sessionNotices = new SessionNotices({
    timers: new ManualTimers(clock),
    notify: (kind, { address, state }) => notices.push(`${kind} ${address} ${state}`),
  });
  const be = (states: Record<string, string>) =>
    sessionNotices.take(Object.entries(states).map(([address, state]) => ({ address, remoteAsn: 64501, state })));
  return { clock, notices, sessionNotices, be };
}

test("a session that was never up is not notified", () => {
  const { clock, notices, be } = setup();
  be({ a: "idle", b: "unknown" });
  be({ a: "connect", b: "idle" });
  clock.advance(2 * SESSION_GRACE_MS);
  expect(notices).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("a session that comes up for the first time is not notified", () => {
  const { notices, be } = setup();
  be({ a: "idle" });
  be({ a: "established" });
  expect(notices).toEqual([]);
});

test("a loss is notified after the grace time with its current state, and the return at once", () => {
  const { clock, notices, be } = setup();
  be({ a: "established", b: "established" });
  be({ a: "unknown", b: "established" });
  clock.advance(SESSION_GRACE_MS - 1);
  be({ a: "idle", b: "established" });
  expect(notices).toEqual([]);
  clock.advance(1);
  expect(notices).toEqual(["bgp_session_lost a idle"]);
  be({ a: "established", b: "established" });
  expect(notices).toEqual(["bgp_session_lost a idle", "bgp_session_restored a established"]);
});

test("a session that is back within the grace was not lost", () => {
  const { clock, notices, be } = setup();
  be({ a: "established" });
  be({ a: "unknown" });
  clock.advance(SESSION_GRACE_MS - 1);
  be({ a: "established" });
  clock.advance(2 * SESSION_GRACE_MS);
  expect(notices).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("a neighbor that is configured no more is forgotten", () => {
  const { clock, notices, be } = setup();
  be({ a: "established", b: "established" });
  be({ a: "idle", b: "established" });
  be({});
  clock.advance(2 * SESSION_GRACE_MS);
  be({ a: "idle", b: "idle" });
  clock.advance(2 * SESSION_GRACE_MS);
  expect(notices).toEqual([]);
});

test("a reported loss of a neighbor that is configured no more is over, also one that an earlier process reported", () => {
  const { clock, notices, be, sessionNotices } = setup();
  sessionNotices.restore({ address: "a", remoteAsn: 64501, state: "idle" });
  be({ b: "established" });
  be({ b: "idle" });
  clock.advance(SESSION_GRACE_MS);
  be({});
  be({});
  expect(notices).toEqual([
    "bgp_session_restored a removed",
    "bgp_session_lost b idle",
    "bgp_session_restored b removed",
  ]);
});

test("nothing is reported once it is stopped", () => {
  const { clock, notices, sessionNotices, be } = setup();
  be({ a: "established" });
  be({ a: "idle" });
  sessionNotices.stop();
  clock.advance(2 * SESSION_GRACE_MS);
  expect(notices).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("a loss that an earlier process notified is not repeated, and its end is notified", () => {
  const { clock, notices, be, sessionNotices } = setup();
  sessionNotices.restore({ address: "a", remoteAsn: 64501, state: "idle" });
  be({ a: "idle" });
  clock.advance(2 * SESSION_GRACE_MS);
  be({ a: "established" });
  expect(notices).toEqual(["bgp_session_restored a established"]);
});
