import { expect, test } from "bun:test";
import { attack, ban } from "../../test/fixtures/views.ts";
import { AnnouncementTimer } from "./announcement-timer.ts";
import type { RouteState } from "./announcer.ts";
import type { Ban } from "./ban.ts";

const started = { kind: "started", attack: attack() } as const;
const lasts = { kind: "lasts", attack: attack() } as const;
const ended = { kind: "ended", attack: attack() } as const;

function harness() {
  const active = new Map<string, Ban>();
  const route: { state: RouteState } = { state: { kind: "pending" } };
  const measured: number[] = [];
  const timer = new AnnouncementTimer({ active, routeState: () => route.state }, (ms) => measured.push(ms));
  const banned = () => active.set(ban().prefix.text, ban());
  return { timer, route, measured, active, banned };
}

test("the time runs from the detection until the route is out, once", () => {
  const { timer, route, measured, banned } = harness();
  timer.attacksChanged([started], 1000);
  banned();
  timer.attacksChanged([lasts], 1100);
  timer.routesChanged(1150);
  route.state = { kind: "announced" };
  timer.routesChanged(1200);
  timer.routesChanged(1300);
  expect(measured).toEqual([200]);
});

test("an attack on a banned target is not measured", () => {
  const { timer, route, measured, banned } = harness();
  banned();
  timer.attacksChanged([started], 1000);
  route.state = { kind: "announced" };
  timer.routesChanged(1200);
  expect(measured).toEqual([]);
});

test("an attack that ends before its route is out is not measured", () => {
  const { timer, route, measured, banned } = harness();
  timer.attacksChanged([started], 1000);
  timer.attacksChanged([ended], 1100);
  banned();
  route.state = { kind: "announced" };
  timer.routesChanged(1200);
  expect(measured).toEqual([]);
});

test("a ban in dry run is not measured, also if it is made real later", () => {
  const { timer, route, measured, active } = harness();
  timer.attacksChanged([started], 1000);
  active.set(ban().prefix.text, ban({ dryRun: true }));
  timer.routesChanged(1100);
  active.set(ban().prefix.text, ban());
  route.state = { kind: "announced" };
  timer.routesChanged(9000);
  expect(measured).toEqual([]);
});
