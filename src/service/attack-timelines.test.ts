import { beforeEach, describe, expect, test } from "bun:test";
import { attack, ban, classification, NOON, udpRules } from "../../test/fixtures/views.ts";
import { TIMELINE_ENTRIES_MAX } from "../detection/attack/timeline.ts";
import type { MissingNeighbor, RouteState } from "../mitigation/announcer.ts";
import type { Ban } from "../mitigation/ban.ts";
import { AttackTimelines } from "./attack-timelines.ts";

const ATTACK = attack();
const NEIGHBORS = ["192.0.2.251", "192.0.2.252"];

let active: Map<string, Ban>;
let state: RouteState;
let timelines: AttackTimelines;
beforeEach(() => {
  active = new Map();
  state = { kind: "pending" };
  timelines = new AttackTimelines({ active, routeState: () => state });
  timelines.detected(ATTACK);
});

function place(next: Ban, previous: Ban | null, atMs = NOON): Ban {
  if (next.state === "active") active.set(next.prefix.text, next);
  else active.delete(next.prefix.text);
  timelines.banChanged({ ban: next, previous }, atMs);
  return next;
}

function announced(...missing: string[]): void {
  const missingAt: MissingNeighbor[] = missing.map((neighbor) => ({ neighbor, cause: "no session" }));
  const sentTo = NEIGHBORS.filter((neighbor) => !missing.includes(neighbor));
  state = { kind: "announced", sentTo, ...(missingAt.length === 0 ? {} : { missingAt }) };
}

const written = () => timelines.filled(ATTACK).timeline.slice(1);
const kinds = () => written().map(({ kind, neighbor }) => (neighbor === undefined ? kind : `${kind} ${neighbor}`));

test("begins with what was detected", () => {
  expect(timelines.filled(ATTACK).timeline).toEqual([{ atMs: NOON, kind: "detected", text: "pps above 1000" }]);
});

test("has the life of a ban, with the moment at which each neighbor had its route", () => {
  const placed = place(ban(), null, NOON + 1);
  timelines.routesChanged(NOON + 2);
  announced("192.0.2.252");
  timelines.routesChanged(NOON + 3);
  timelines.routesChanged(NOON + 4);
  announced();
  timelines.routesChanged(NOON + 5);
  timelines.routesChanged(NOON + 6);
  place({ ...placed, state: "withdrawn", reason: "attack ended" }, placed, NOON + 9);
  const text = "192.0.2.1/32 next-hop 192.0.2.254 community 65535:666";
  expect(written()).toEqual([
    { atMs: NOON + 1, kind: "ban_placed", text },
    { atMs: NOON + 3, kind: "announced", text, neighbor: "192.0.2.251" },
    { atMs: NOON + 5, kind: "announced", text, neighbor: "192.0.2.252" },
    { atMs: NOON + 9, kind: "ban_withdrawn", text: "attack ended" },
  ]);
});

test("a neighbor that never gets a route is not waited for", () => {
  place(ban(), null);
  announced("192.0.2.252");
  timelines.routesChanged(NOON + 60_000);
  announced();
  timelines.routesChanged(NOON + 60_001);
  expect(kinds()).toEqual(["ban_placed", "announced 192.0.2.251"]);
});

describe("a change of a ban", () => {
  const rules = ban({ method: "flowspec", measure: udpRules() });

  test.each<[string, Ban, Ban | null, string, string]>([
    ["in dry run", ban({ dryRun: true }), null, "ban_placed", "dry run: "],
    ["that is refused", ban({ state: "rejected", reason: "whitelisted" }), null, "ban_refused", "whitelisted"],
    ["to another rung", { ...rules, step: 1 }, ban(), "escalated", "step 1: "],
    ["to another method", rules, ban(), "method_changed", ""],
    [
      "to other rules",
      { ...rules, measure: { ...udpRules(), rules: [], basis: "other" } },
      rules,
      "rules_changed",
      "192.0.2.1/32 flowspec",
    ],
    ["that becomes real", ban(), ban({ dryRun: true }), "dry_run_changed", "real"],
    ["with a substitute", { ...rules, fallback: "refused by all" }, ban(), "method_changed", ""],
  ])("%s", (_, next, previous, kind, text) => {
    place(next, previous);
    expect(written()).toHaveLength(1);
    expect(written()[0]).toMatchObject({ atMs: NOON, kind });
    expect(written()[0]?.text).toStartWith(text);
    if (next.fallback !== null) expect(written()[0]?.text).toEndWith("(refused by all)");
  });

  test("that only extends it is not written down, nor one of another attack's ban", () => {
    place({ ...ban(), expiresAt: NOON + 1 }, ban());
    place(ban({ id: "b2", attackId: "a2", heldBy: ["a2"] }), null);
    expect(written()).toEqual([]);
  });

  test("to another prefix is announced again", () => {
    const placed = place(ban(), null);
    const prefix = { ...placed.prefix, text: "192.0.2.0/31" };
    active.clear();
    announced();
    place({ ...placed, prefix, measure: udpRules() }, placed);
    timelines.routesChanged(NOON + 1);
    expect(kinds().slice(1)).toEqual(["method_changed", "announced 192.0.2.251", "announced 192.0.2.252"]);
  });

  test("an attack whose victim has a ban already joins it", () => {
    place(ban(), ban({ heldBy: [], attackId: null, manual: true }));
    expect(written()[0]?.text).toStartWith("in force already: 192.0.2.1/32 ");
  });
});

describe("the events of an attack", () => {
  test("of its kind, the first and others", () => {
    const classified = (type: "udp_flood" | "syn_flood", isNewKind: boolean) => {
      const found = attack({ classification: classification({ type }) });
      timelines.recorded({ kind: "classified", attack: found, isNewKind }, NOON);
    };
    classified("udp_flood", true);
    classified("udp_flood", false);
    classified("syn_flood", true);
    expect(written().map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "classified udp_flood",
      "reclassified syn_flood",
    ]);
  });

  test("its end takes the timeline with it", () => {
    const ended = attack({ endedAt: NOON + 5 });
    const event = timelines.recorded({ kind: "ended", attack: ended }, NOON + 5);
    expect(event.attack.timeline.map(({ kind }) => kind)).toEqual(["detected", "ended"]);
    expect(timelines.filled(ATTACK).timeline).toEqual([]);
    expect(timelines.filled(event.attack).timeline).toBe(event.attack.timeline);
  });
});

test("no entry is earlier than the one before", () => {
  place(ban(), null, NOON + 7);
  place(ban({ state: "rejected", reason: "whitelisted" }), null, NOON + 6);
  expect(written().map(({ atMs }) => atMs)).toEqual([NOON + 7, NOON + 7]);
});

test("an attack of an earlier process goes on where it was", () => {
  const timeline = [{ atMs: 1, kind: "detected", text: "" }] as const;
  timelines.restore([attack({ id: "a1", timeline })]);
  place(ban(), null);
  expect(timelines.filled(ATTACK).timeline.map(({ kind }) => kind)).toEqual(["detected", "ban_placed"]);
});

test.each([
  [TIMELINE_ENTRIES_MAX - 2, TIMELINE_ENTRIES_MAX - 1, 0],
  [TIMELINE_ENTRIES_MAX - 1, TIMELINE_ENTRIES_MAX, 0],
  [TIMELINE_ENTRIES_MAX, TIMELINE_ENTRIES_MAX, 1],
])("after %p changes it has %p entries: how it began, and what came last", (changes, length, lost) => {
  for (let i = 0; i < changes; i++) place(ban({ state: "rejected", reason: String(i) }), null, NOON + i);
  const { timeline } = timelines.filled(ATTACK);
  expect(timeline).toHaveLength(length);
  expect(timeline[0]?.kind).toBe("detected");
  expect(timeline.at(-1)?.text).toBe(String(changes - 1));
  expect(timeline[TIMELINE_ENTRIES_MAX / 2]?.text).toBe(String(TIMELINE_ENTRIES_MAX / 2 - 1 + lost));
});
