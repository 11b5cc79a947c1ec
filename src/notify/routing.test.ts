import { expect, test } from "bun:test";
import { attackEvent, banEvent, events, orderEvent, sessionEvent, targets } from "../../test/fixtures/notify/notify.ts";
import { attack, ban, NOON } from "../../test/fixtures/views.ts";
import type { NotifiedProblem } from "../storage/notification-records.ts";
import type { AttackEvent, NotifyEvent } from "./event.ts";
import { NotifiedProblems, PROBLEMS_MAX } from "./notified-problems.ts";
import type { Hours, NotifyConfig, NotifyRoute, RouteMatch } from "./notify-config.ts";
import { Routing } from "./routing.ts";

const CONFIG = targets(
  { kind: "slack", urlEnv: "S" },
  { kind: "teams", urlEnv: "T" },
  { kind: "webhook", urlEnv: "W", secretEnv: null },
);
const HOUR_MS = 3_600_000;

function route(match: RouteMatch, names: readonly string[], changes: Partial<NotifyRoute> = {}): NotifyRoute {
  const plain = { place: [], continues: false, repeatMs: null, groupMs: null, quiet: [], routes: [] };
  return { match, targets: names, ...plain, ...changes };
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
const evening = { zone: "UTC", days: new Set([3]), from: 22 * 60, to: 6 * 60 };
const day = { zone: "UTC", days: new Set([3]), from: 8 * 60, to: 18 * 60 };
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

test("the alert at a service whose target has another name since is closed too", () => {
  const [pd, slack] = [
    { kind: "pagerduty", keyEnv: "K", url: "https://p" },
    { kind: "slack", urlEnv: "S" },
  ] as const;
  const before = targets(pd, slack);
  const router = new Routing(before);
  router.targetsOf(started());
  router.reconfigure({
    ...before,
    targets: before.targets.map((each) => (each.name === "pagerduty" ? { ...each, name: "on-call" } : each)),
  });
  expect(router.targetsOf(ended())).toEqual(["on-call", "slack"]);
});

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

test("an event goes to the innermost route that takes it, of each branch that goes on; else to the one around", () => {
  const router = routing(
    route({ tenants: new Set(["acme"]) }, ["teams"], {
      continues: true,
      routes: [
        route({ hostgroups: new Set(["web"]) }, ["slack"], {
          routes: [route({ minPps: 5000 }, ["webhook"]), route({ events: new Set(["ban_active"]) }, [])],
        }),
        route({ hostgroups: new Set(["web"]) }, ["webhook"]),
      ],
    }),
    route({ events: new Set(["attack_started"]) }, ["webhook"]),
    route({}, ["slack"]),
  );
  const of = { tenant: "acme", group: "web" };
  expect(router.targetsOf(started({ attack: big }))).toEqual(["webhook"]);
  expect(router.targetsOf(started({ attack: attack({ id: "small", rates: [1, 1, 1] }) }))).toEqual([
    "slack",
    "webhook",
  ]);
  // A route within takes it and sends it nowhere; the branch beside goes on.
  expect(router.targetsOf(banEvent(of))).toEqual(["slack"]);
  expect(router.targetsOf(banEvent({ ...of, group: "mail", ban: ban({ id: "b2" }) }))).toEqual(["slack", "teams"]);
});

const NIGHT: Hours = { zone: "UTC", days: new Set([0, 1, 2, 3, 4, 5, 6]), from: 22 * 60, to: 6 * 60 };

test("in a quiet time a route sends no begin and no change, but the ends of what its targets know of", () => {
  const router = routing(route({}, ["slack"], { quiet: [NIGHT], continues: true }), route({}, ["webhook"]));
  expect(router.targetsOf(started({ atMs: wednesday(21) }))).toEqual(["slack", "webhook"]);
  expect(router.targetsOf(started({ kind: "attack_changed", atMs: wednesday(23) }))).toEqual(["webhook"]);
  expect(router.targetsOf(ended({ atMs: wednesday(23) }))).toEqual(["slack", "webhook"]);
  expect(router.targetsOf(started({ atMs: wednesday(23) }))).toEqual(["webhook"]);
  expect(router.targetsOf(ended({ atMs: wednesday(32) }))).toEqual(["webhook"]);
});

test("what began in a quiet time and outlasts it is sent then, once", () => {
  const router = routing(route({}, ["slack"], { quiet: [NIGHT] }));
  expect(router.targetsOf(started({ atMs: wednesday(23) }))).toEqual([]);
  const lasts = (hours: number) => router.dueFor(started({ kind: "attack_lasts", atMs: wednesday(hours) }));
  expect([lasts(29), lasts(30), lasts(31)]).toEqual([[], ["slack"], []]);
  expect(router.targetsOf(ended({ atMs: wednesday(32) }))).toEqual(["slack"]);
  const lost = sessionEvent({ atMs: wednesday(23) });
  expect(router.targetsOf(lost)).toEqual([]);
  const after = (hours: number) => [...router.afterQuiet(wednesday(hours))];
  expect([after(29), after(30), after(31)]).toEqual([[], [{ event: lost, targets: ["slack"] }], []]);
  expect(router.targetsOf(sessionEvent({ kind: "bgp_session_restored", atMs: wednesday(33) }))).toEqual(["slack"]);
});

test("an attack that outlasts a quiet time is sent by a route that takes only begins and ends", () => {
  const events = new Set(["attack_started", "attack_ended"] as const);
  const router = routing(route({ events }, ["slack"], { quiet: [NIGHT] }), route({}, ["teams"]));
  expect(router.targetsOf(started({ atMs: wednesday(23) }))).toEqual([]);
  const lasts = (hours: number) => router.dueFor(started({ kind: "attack_lasts", atMs: wednesday(hours) }));
  expect([lasts(29), lasts(30), lasts(31)]).toEqual([[], ["slack"], []]);
  expect(router.targetsOf(ended({ atMs: wednesday(32) }))).toEqual(["slack"]);
});

test("the end of a ban that began in a quiet time goes by the routes", () => {
  const router = routing(route({}, ["slack"], { quiet: [NIGHT] }));
  const bans = ["one", "other"].map((id) => ban({ id }));
  for (const each of bans) expect(router.targetsOf(banEvent({ ban: each, atMs: wednesday(23) }))).toEqual([]);
  expect([...router.afterQuiet(wednesday(31))]).toEqual([]);
  const ends = bans.map((each, i) =>
    router.targetsOf(banEvent({ kind: "ban_withdrawn", ban: each, atMs: wednesday(24 + 8 * i) })),
  );
  expect(ends).toEqual([[], ["slack"]]);
});

test("what began and ended in a quiet time is not sent, not even by services that keep alerts", () => {
  const known = targets(PAGER);
  const router = new Routing({ ...known, routes: [route({}, ["pagerduty"], { quiet: [NIGHT] })] });
  expect(router.targetsOf(started({ atMs: wednesday(23) }))).toEqual([]);
  expect(router.targetsOf(ended({ atMs: wednesday(24) }))).toEqual([]);
});

test("a problem whose begin went to no target has no end, whatever the routes of the end, also after a restart", () => {
  const nowhere = route({ severity: "warning" }, []);
  const known = targets({ kind: "slack", urlEnv: "S" }, PAGER);
  const routes = [
    route({ severity: "warning" }, ["slack"], { quiet: [NIGHT], routes: [nowhere] }),
    route({}, ["slack"]),
  ];
  const disk = new Map<string, NotifiedProblem>();
  const router = restarted(disk, { ...known, routes });
  for (const begin of [started({ atMs: wednesday(12) }), sessionEvent()]) expect(router.targetsOf(begin)).toEqual([]);
  expect(router.targetsOf(sessionEvent({ kind: "bgp_session_restored" }))).toEqual([]);
  const after = restarted(disk, { ...known, routes });
  expect([after.isDecided("attack a1"), after.targetsOf(ended())]).toEqual([true, []]);
  // One that began and ended in a quiet time of its route, while the route of the end has none.
  const quiet = new Routing({
    ...known,
    routes: [route({ severity: "critical" }, ["pagerduty"], { quiet: [NIGHT] }), ...routes],
  });
  expect(quiet.targetsOf(started({ atMs: wednesday(23) }))).toEqual([]);
  expect(quiet.targetsOf(ended({ atMs: wednesday(24) }))).toEqual([]);
});

test("messages wait for further events as the route says that leads to the target", () => {
  const router = routing(
    route({}, ["slack", "webhook"], {
      groupMs: 60_000,
      continues: true,
      routes: [route({ minPps: 5000 }, ["slack"], { groupMs: 0 })],
    }),
    route({}, ["teams"]),
  );
  expect(["slack", "webhook", "teams"].map((name) => router.groupMsOf(started(), name))).toEqual([
    60_000,
    60_000,
    null,
  ]);
  expect(router.groupMsOf(started({ attack: big }), "slack")).toBe(0);
});

test("says where an event would go, and by which routes, without a trace", () => {
  const place = ["notify", "routes", 0, "routes", 1];
  const router = routing(
    route({ tenants: new Set(["acme"]) }, [], { routes: [route({ minPps: 1 }, ["slack"], { place, quiet: [NIGHT] })] }),
    route({}, ["webhook"]),
  );
  const event = { kind: "attack_started", severity: "critical", tenant: "acme", group: null, mbps: null } as const;
  const deciding = { place: "notify.routes[0].routes[1]", targets: ["slack"], repeatMs: null, groupMs: null };
  expect(router.explained({ ...event, pps: 5, atMs: wednesday(23) })).toEqual({
    ...{ severity: "critical", targets: [] },
    routes: [{ ...deciding, isQuiet: true }],
  });
  expect(router.explained({ ...event, pps: 5, atMs: wednesday(12) }).targets).toEqual(["slack"]);
  expect(router.explained({ ...event, tenant: null, pps: null, atMs: 0 }).targets).toEqual(["webhook"]);
  expect(new Routing(CONFIG).explained({ ...event, pps: null, atMs: 0 })).toMatchObject({
    ...{ routes: null, targets: ["slack", "teams", "webhook"] },
  });
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

test("Alertmanager, which ends alerts by itself, gets again what lasts, also in a quiet time, and no other target does", () => {
  const known = targets(
    { kind: "slack", urlEnv: "S" },
    { kind: "alertmanager", url: "http://a.example", tokenEnv: null },
  );
  const router = new Routing({ ...known, routes: [route({}, ["slack", "alertmanager"], { quiet: [NIGHT] })] });
  const [begin, lost] = [started({ atMs: wednesday(14) }), sessionEvent({ atMs: wednesday(14) })];
  for (const event of [begin, lost]) router.targetsOf(event);
  const again = (hours: number) => [
    router.dueFor(started({ kind: "attack_lasts", atMs: wednesday(hours) })),
    [...router.renewals(wednesday(hours))],
  ];
  const renewed = [["alertmanager"], [{ event: lost, targets: ["alertmanager"] }]];
  expect([21.9, 22, 29.9, 30].map(again)).toEqual([[[], []], renewed, [[], []], renewed]);
  router.targetsOf(sessionEvent({ kind: "bgp_session_restored" }));
  expect(again(38)).toEqual([["alertmanager"], []]);
});

test("an attack is repeated at its interval when the clock was set back meanwhile, also in an earlier process", () => {
  const disk = new Map<string, NotifiedProblem>();
  const config = { ...CONFIG, routes: [route({}, ["slack"], { repeatMs: HOUR_MS })] };
  restarted(disk, config).targetsOf(started({ atMs: wednesday(36) }));
  const router = restarted(disk, config);
  const lasts = (hours: number) => router.dueFor(started({ kind: "attack_lasts", atMs: wednesday(hours) }));
  expect([lasts(12), lasts(12.9), lasts(13), lasts(13.1)]).toEqual([[], [], ["slack"], []]);
});

/** Of the process before, as its disk has it. */
function restarted(disk: Map<string, NotifiedProblem>, config: NotifyConfig): Routing {
  const queue = (key: string, record: NotifiedProblem | null) =>
    void (record === null ? disk.delete(key) : disk.set(key, structuredClone(record)));
  return new Routing(config, new NotifiedProblems({ table: { queue }, stored: [...disk.values()] }));
}

test("a restart knows which targets got a begin, when, and which wait for the end of a quiet time", () => {
  const disk = new Map<string, NotifiedProblem>();
  const config = {
    ...CONFIG,
    routes: [
      route({ severity: "critical" }, ["slack"], { continues: true, repeatMs: HOUR_MS }),
      route({}, ["teams"], { quiet: [NIGHT] }),
    ],
  };
  restarted(disk, config).targetsOf(started({ atMs: wednesday(23) }));
  const lasts = (hours: number) => started({ kind: "attack_lasts", atMs: wednesday(hours) });
  expect(restarted(disk, config).dueFor(lasts(23.5))).toEqual([]);
  expect(restarted(disk, config).dueFor(lasts(24))).toEqual(["slack"]);
  expect(restarted(disk, config).dueFor(lasts(24.5))).toEqual([]);
  expect(restarted(disk, config).dueFor(lasts(31))).toEqual(["slack", "teams"]);
  const other = { ...CONFIG, routes: [route({}, ["webhook"])] };
  expect(restarted(disk, other).targetsOf(ended())).toEqual(["slack", "teams"]);
  expect(disk.size).toBe(0);
});

test("the end of an attack that an earlier build began goes by the routes, and closes alerts", () => {
  const disk = new Map([["attack a1", { id: "attack a1", tenant: null, targets: [], quiet: [] }]]);
  const config = { ...targets({ kind: "slack", urlEnv: "S" }, PAGER), routes: [route({}, ["slack"])] };
  expect(restarted(disk, config).targetsOf(ended())).toEqual(["slack", "pagerduty"]);
});

test("the oldest of more problems than are known is forgotten", () => {
  const router = routing(route({}, ["slack"]));
  for (const event of events(PROBLEMS_MAX + 1)) router.targetsOf(event);
  router.reconfigure({ ...CONFIG, routes: [] });
  const end = (id: string) => router.targetsOf(ended({ attack: attack({ id }) }));
  expect(end("a0")).toEqual([]);
  expect(end("a1")).toEqual(["slack"]);
});
