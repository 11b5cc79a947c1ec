import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { standingOf } from "./standing.ts";

const attack = (packets = 1000, passed?: number) =>
  ({
    active: true,
    volume: { packets, ...(passed === undefined ? {} : { passed_packets: passed, dropped_by: {} }) },
  }) as AttackWire;
const sampled = (packets: number, passed: number) =>
  ({
    active: true,
    volume: { packets, passed_packets: passed, dropped_by: {}, peak_sampling_error: 0.1 },
  }) as AttackWire;
const ban = (changes: Partial<BanWire> = {}) =>
  ({ state: "active", method: "blackhole", dry_run: false, ...changes }) as BanWire;
const announced = (neighbors: number, of: number, changes: Partial<BanWire> = {}) =>
  ban({ announcement: "announced", announced: true, reached: { neighbors, of }, ...changes });

describe("how far an attack is stopped", () => {
  test.each([
    ["no ban", attack(), undefined, "danger", "No ban"],
    [
      "a ban that the page has not read",
      { ...attack(), ban_state: "active" },
      undefined,
      "info",
      "Its ban is not known yet",
    ],
    [
      "a ban that the page has not read, after another",
      { ...attack(), ban_state: "active" },
      ban({ state: "withdrawn" }),
      "info",
      "Its ban is not known yet",
    ],
    [
      "the last seconds, not all so far",
      { ...attack(1000, 900), recent: { packets: 100, passed: 0 } },
      undefined,
      "ok",
      "100 % stopped here",
    ],
    ["a refused ban", attack(), ban({ state: "rejected" }), "danger", "Ban refused"],
    ["dry run", attack(), ban({ dry_run: true }), "danger", "Dry run: nothing is announced or dropped"],
    ["all routers have it", attack(), announced(2, 2), "ok", "Route at 2 of 2 routers"],
    ["a router lacks it", attack(), announced(1, 2), "warn", "Route at 1 of 2 routers"],
    [
      "the names say as much",
      attack(),
      ban({ announcement: "announced", sent_to: ["a"] }),
      "ok",
      "Route at 1 of 1 router",
    ],
    ["of no number", attack(), ban({ announcement: "announced" }), "ok", "Routers have the route"],
    ["no session", attack(), ban({ announcement: "no_session" }), "danger", "No router has the route"],
    [
      "a speaker that does not answer",
      attack(),
      ban({ announcement: "speaker_down" }),
      "danger",
      "Not known whether routers have the route",
    ],
    [
      "a scrub node that gets nothing",
      attack(),
      announced(2, 2, { method: "divert", node: "scrub1", node_idle: true }),
      "danger",
      "Route at 2 of 2 routers · scrub1 gets 0 of it",
    ],
    ["this machine stops it", attack(1000, 13), ban({ dropped_packets: 987 }), "ok", "98.7 % stopped here"],
    ["rules of the operator stop it, without a ban", attack(1000, 0), undefined, "ok", "100 % stopped here"],
    [
      "this machine, of an attack without numbers",
      { active: true } as AttackWire,
      ban({ dropped_packets: 7 }),
      "ok",
      "Packets are stopped here",
    ],
    [
      "its ban, of a prefix of which other drops are not known",
      { active: true, volume: { packets: 1000, passed_packets: 600 } } as AttackWire,
      ban({ dropped_packets: 400 }),
      "warn",
      "40 % stopped here by its ban",
    ],
    [
      "this machine, of an estimated total",
      sampled(1000, 0),
      ban({ dropped_packets: 1200 }),
      "ok",
      "≈ 100 % stopped here",
    ],
    ["nearly all is not all", attack(100_000, 1), ban(), "ok", "99.9 % stopped here"],
    ["half of it", attack(1000, 500), ban(), "warn", "50 % stopped here"],
    ["as good as nothing", attack(1000, 995), ban(), "danger", "0.5 % stopped here"],
    ["the worst of both", attack(1000, 20), announced(1, 2), "warn", "Route at 1 of 2 routers · 98 % stopped here"],
    ["routers do it, not this machine", attack(1000, 1000), announced(1, 1), "ok", "Route at 1 of 1 router"],
    ["rules are not found yet", attack(), ban({ method: "flowspec" }), "info", "Waiting for rules"],
    ["nothing announces it", attack(), ban(), "danger", "Nothing announces the ban"],
    ["over", { ...attack(), active: false }, undefined, "info", "The attack is over"],
  ] as const)("%s", (_, row, its, tone, text) => {
    expect<unknown>(standingOf(row, its)).toEqual({ tone, text });
  });
});
