import { expect, test } from "bun:test";
import { attackEvent, banEvent, events, orderEvent, sessionEvent, targets } from "../../test/fixtures/notify/notify.ts";
import { attack, ban, NOON } from "../../test/fixtures/views.ts";
import type { AttackEvent, NotifyEvent } from "./event.ts";
import type { NotifyConfig, NotifyRoute, RouteMatch } from "./notify-config.ts";
import { PROBLEMS_MAX, Routing } from "./routing.ts";

const CONFIG = targets(
  { kind: "slack", urlEnv: "S" },
  { kind: "teams", urlEnv: "T" },
  { kind: "webhook", urlEnv: "W", secretEnv: null },
);
const HOUR_MS = 3_600_000;

function route(match: RouteMatch, names: readonly string[], changes: Partial<NotifyRoute> = {}): NotifyRoute {
  return { match, targets: names, continues: false, repeatMs: null, ...changes };
}

function routing(...routes: readonly NotifyRoute[]): Routing {
  return new Routing({ ...CONFIG, routes });
}

const started = (changes: Partial<AttackEvent> = {}) => attackEvent({ group: "web", tenant: "acme", ...changes });
const ended = (changes: Partial<AttackEvent> = {}) => started({ kind: "attack_ended", ...changes });

test("without routes each event goes to all targets", () => {
  expect(new Routing(CONFIG).targetsOf(sessionEvent())).toEqual(["slack", "teams", "webhook"]);
});

test("orders go where a route sends them, and nowhere without routes", () => {
  expect(new Routing(CONFIG).targetsOf(orderEvent())).toEqual([]);
  expect(routing(route({}, ["slack"])).targetsOf(orderEvent())).toEqual(["slack"]);
});

test("the first route that matches decides, unless it goes on, and what none takes goes to no target", () => {
  const router = routing(
    route({ tenants: new Set(["acme"]) }, ["webhook"], { continues: true }),
    route({ hostgroups: new Set(["web"]) }, ["teams"]),
    route({ severity: "warning" }, ["slack"]),
  );
  expect(router.targetsOf(started())).toEqual(["teams", "webhook"]);
  expect(router.targetsOf(sessionEvent())).toEqual(["slack"]);
  expect(
    router.targetsOf(
      sessionEvent({
        kind: "bgp_session_restored",
        neighbor: { address: "192.0.2.9", remoteAsn: 1, state: "established" },
      }),
    ),
  ).toEqual([]);
});

const wednesday = (hours: number) => Date.UTC(2026, 2, 4) + hours * HOUR_MS;
const evening = { days: new Set([3]), from: 22 * 60, to: 6 * 60 };
const day = { days: new Set([3]), from: 8 * 60, to: 18 * 60 };
const big = attack({ id: "big", rates: [5000, 900, 10] });
const matches: readonly (readonly [string, RouteMatch, NotifyEvent, boolean])[] = [
  ["an event of another kind", { events: new Set(["ban_active"]) }, started(), false],
  ["the kind", { events: new Set(["ban_active"]) }, banEvent(), true],
  ["an event of no tenant", { tenants: new Set(["acme"]) }, sessionEvent(), false],
  ["an event of no hostgroup", { hostgroups: new Set(["web"]) }, sessionEvent(), false],
  ["an attack that has no ban", { severity: "critical" }, started(), true],
  [
    "an attack that is banned",
    { severity: "critical" },
    started({ attack: attack({ threshold: 1e9 }), ban: ban() }),
    false,
  ],
  ["as many packets", { minPps: 5000 }, started({ attack: big }), true],
  ["fewer packets", { minPps: 5001 }, started({ attack: big }), false],
  ["as many bits", { minMbps: 900 }, started({ attack: big }), true],
  ["fewer bits", { minMbps: 901 }, started({ attack: big }), false],
  ["no rate", { minPps: 1 }, sessionEvent(), false],
  ["the begin of a part of the day", { hours: day }, started({ atMs: wednesday(8) }), true],
  ["its end", { hours: day }, started({ atMs: wednesday(18) }), false],
  ["another day", { hours: day }, started({ atMs: wednesday(24 + 9) }), false],
  ["the evening of the day", { hours: evening }, started({ atMs: wednesday(23) }), true],
  ["the morning after it", { hours: evening }, started({ atMs: wednesday(29) }), true],
  ["the morning before it", { hours: evening }, started({ atMs: wednesday(5) }), false],
];
for (const [name, match, event, isTaken] of matches)
  test(`${isTaken ? "taken" : "left"}: ${name}`, () => {
    expect(routing(route(match, ["slack"])).targetsOf(event)).toEqual(isTaken ? ["slack"] : []);
  });

test("the end of a problem goes to those that got its begin, and its changes to them too", () => {
  const router = routing(route({ minPps: 4000 }, ["slack"]), route({}, ["webhook"]));
  expect(router.targetsOf(started())).toEqual(["webhook"]);
  expect(router.targetsOf(started({ kind: "attack_changed", attack: attack({ rates: [5000, 1, 1] }) }))).toEqual([
    "slack",
    "webhook",
  ]);
  router.reconfigure({ ...CONFIG, routes: [route({}, ["teams"])] });
  expect(router.targetsOf(ended())).toEqual(["slack", "webhook"]);
  expect(router.targetsOf(ended())).toEqual(["teams"]);
});

test("a target that a reload removed gets no end", () => {
  const router = routing(route({}, ["slack", "webhook"]));
  router.targetsOf(started());
  const rest: NotifyConfig = { ...CONFIG, targets: CONFIG.targets.slice(0, 1), routes: null };
  router.reconfigure(rest);
  expect(router.targetsOf(ended())).toEqual(["slack"]);
});

const PAGER = { kind: "pagerduty", keyEnv: "K", url: "https://alerts.example.net" } as const;

test("an end whose begin is not known closes alerts too, beside its routes", () => {
  const known = targets({ kind: "slack", urlEnv: "S" }, PAGER);
  const router = new Routing({
    ...known,
    routes: [route({ severity: "critical" }, ["pagerduty"]), route({}, ["slack"])],
  });
  expect(router.targetsOf(ended())).toEqual(["slack", "pagerduty"]);
  router.targetsOf(started());
  const renamed = known.targets.map((each) => (each.name === "pagerduty" ? { ...each, name: "on-call" } : each));
  router.reconfigure({ ...known, targets: renamed, routes: [route({}, ["slack"])] });
  expect(router.targetsOf(ended())).toEqual(["slack", "on-call"]);
});

test("targets of one tenant get nothing more of an attack that a reload gave to another", () => {
  const router = routing(route({ tenants: new Set(["acme"]) }, ["slack"]), route({}, ["webhook"]));
  expect(router.targetsOf(started())).toEqual(["slack"]);
  expect(router.targetsOf(started({ kind: "attack_changed", tenant: "other" }))).toEqual(["webhook"]);
  expect(router.targetsOf(ended({ tenant: "other" }))).toEqual(["webhook"]);
});

test("an attack that lasts is repeated where a route says so, to those that know of it", () => {
  const router = routing(route({}, ["slack"], { repeatMs: HOUR_MS, continues: true }), route({}, ["teams"]));
  router.targetsOf(started({ atMs: NOON }));
  const lasts = (ms: number) => router.dueFor(started({ kind: "attack_lasts", atMs: NOON + ms }));
  expect(lasts(HOUR_MS - 1)).toEqual([]);
  expect(lasts(HOUR_MS)).toEqual(["slack"]);
  expect(lasts(HOUR_MS + 1)).toEqual([]);
  expect(
    router.dueFor(started({ kind: "attack_lasts", attack: attack({ id: "other" }), atMs: NOON + HOUR_MS })),
  ).toEqual([]);
});

test("the oldest of more problems than are known is forgotten", () => {
  const router = routing(route({}, ["slack"]));
  for (const event of events(PROBLEMS_MAX + 1)) router.targetsOf(event);
  router.reconfigure({ ...CONFIG, routes: [] });
  const end = (id: string) => router.targetsOf(ended({ attack: attack({ id }) }));
  expect(end("a0")).toEqual([]);
  expect(end("a1")).toEqual(["slack"]);
});
