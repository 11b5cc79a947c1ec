import { expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { ban } from "../../test/fixtures/views.ts";
import type { RouteState } from "../mitigation/announcer.ts";
import type { Ban } from "../mitigation/ban.ts";
import { ROUTE_LOOK_BANS, ROUTE_LOOK_MS, RouteChanges } from "./route-changes.ts";

function harness() {
  const active = new Map<string, Ban>([[ban().prefix.text, ban()]]);
  const route: { state: RouteState | null } = { state: { kind: "pending" } };
  const reported: (string | undefined)[] = [];
  const clock = new ManualClock();
  const changes = new RouteChanges({
    bans: { active, routeState: () => route.state },
    timers: new ManualTimers(clock),
    onChange: (_, state) => reported.push(state?.kind),
  });
  changes.placed(ban(), route.state);
  return { active, route, reported, clock, changes };
}

test("a ban is reported at once when its route is announced, and not again while nothing changes", () => {
  const { route, reported, changes, clock } = harness();
  changes.look();
  expect(reported).toEqual([]);
  clock.advance(ROUTE_LOOK_MS);
  route.state = { kind: "announced" };
  changes.look();
  expect(reported).toEqual(["announced"]);
  clock.advance(ROUTE_LOOK_MS);
  changes.look();
  expect(reported).toEqual(["announced"]);
});

test("looks that follow shortly are one look at the end of the pause", () => {
  const { route, reported, changes, clock } = harness();
  changes.look();
  route.state = { kind: "announced" };
  changes.look();
  route.state = { kind: "no_session" };
  changes.look();
  expect(reported).toEqual([]);
  clock.advance(ROUTE_LOOK_MS);
  expect(reported).toEqual(["no_session"]);
});

test("a neighbor that gets the route or loses it is a change", () => {
  const { route, reported, changes, clock } = harness();
  const missing = { neighbor: "192.0.2.3", cause: "no session" };
  const states: RouteState[] = [
    { kind: "announced", sentTo: ["192.0.2.2"], missingAt: [missing] },
    { kind: "announced", sentTo: ["192.0.2.2", "192.0.2.3"] },
    { kind: "announced", sentTo: ["192.0.2.3"], missingAt: [{ ...missing, neighbor: "192.0.2.2" }] },
  ];
  for (const state of states) {
    route.state = state;
    changes.look();
    clock.advance(ROUTE_LOOK_MS);
  }
  expect(reported).toEqual(["announced", "announced", "announced"]);
});

test("a ban that ended is forgotten, and no look is made after the stop", () => {
  const { active, route, reported, changes, clock } = harness();
  active.clear();
  changes.look();
  clock.advance(ROUTE_LOOK_MS);
  active.set(ban().prefix.text, ban());
  changes.look();
  expect(reported).toEqual(["pending"]);
  route.state = { kind: "announced" };
  changes.look();
  changes.stop();
  clock.advance(ROUTE_LOOK_MS);
  expect(reported).toEqual(["pending"]);
});

test("many bans are looked at in parts, those that wait for their announcement first", () => {
  const announced: RouteState = { kind: "announced" };
  const many = Array.from({ length: ROUTE_LOOK_BANS + 1 }, (_, i) => ban({ id: `b${i}`, target: `203.0.113.${i}` }));
  const active = new Map(many.map((each) => [each.prefix.text, each]));
  const reported: string[] = [];
  const clock = new ManualClock();
  let state: RouteState = announced;
  const changes = new RouteChanges({
    bans: { active, routeState: () => state },
    timers: new ManualTimers(clock),
    onChange: ({ id }) => reported.push(id),
  });
  const last = many.at(-1) as Ban;
  for (const each of many) changes.placed(each, each === last ? { kind: "pending" } : announced);
  state = { kind: "announced", sentTo: ["192.0.2.2"] };
  changes.look();
  expect(reported.length).toBe(ROUTE_LOOK_BANS);
  expect(reported[0]).toBe(last.id);
  clock.advance(ROUTE_LOOK_MS);
  expect(reported.length).toBe(many.length);
});
