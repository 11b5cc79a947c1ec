import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { attackOn } from "../../test/fixtures/mitigation/ban-engine.ts";
import { communitiesOf, prefix } from "../../test/fixtures/networks.ts";
import { hostPrefix } from "../net/prefix.ts";
import { exactly } from "../net/range.ts";
import type { UnicastRoute } from "./announcer.ts";
import { type Ban, type BanEvent, banChangeKind, next, type Plan, wantedRoutes } from "./ban.ts";
import { type Measure, measureText, NO_MEASURE, routeKey, routeText } from "./measure.ts";
import { type Rule, wideRule } from "./rules/rule.ts";

const target = address("192.0.2.1");
const route: UnicastRoute = {
  kind: "unicast",
  prefix: hostPrefix(target),
  nextHop: address("192.0.2.254"),
  communities: communitiesOf("65535:666"),
  localPref: 0,
};
const blackhole: Measure = { kind: "blackhole", route };
const wider = prefix("192.0.2.0/24");
const widerBlackhole: Measure = { kind: "blackhole", route: { ...route, prefix: wider } };
const divert: Measure = {
  kind: "divert",
  route: { ...route, nextHop: address("192.0.2.9"), communities: [] },
  node: null,
  rules: { kind: "flowspec", rules: [], matchesAll: false, localPref: 0, basis: "" },
};

function flowspec(...protocols: number[]): Measure {
  const rule = (protocol: number): Rule => ({
    ...wideRule(hostPrefix(target), { kind: "discard" }),
    protocols: exactly(protocol),
  });
  return { kind: "flowspec", rules: protocols.map(rule), matchesAll: false, localPref: 0, basis: protocols.join() };
}

function plan(measure: Measure, fields: Partial<Plan> = {}): Plan {
  return { step: 0, method: measure.kind === "none" ? "blackhole" : measure.kind, measure, fallback: null, ...fields };
}

function ban(overrides: Partial<Ban> = {}): Ban {
  return {
    id: "b1",
    target,
    prefix: hostPrefix(target),
    state: "active",
    dryRun: false,
    manual: false,
    attackId: "a1",
    heldBy: ["a1"],
    metric: "pps",
    rate: 2000,
    threshold: 1000,
    ...plan(blackhole),
    retiring: [],
    escalation: null,
    repeat: 0,
    holdUntil: null,
    startedAt: 0,
    countedFrom: 0,
    expiresAt: 600_000,
    withdrawnAt: null,
    reason: null,
    ...overrides,
  };
}

const policy = (fields: Partial<Extract<BanEvent, { kind: "policy" }>> = {}): BanEvent => ({
  kind: "policy",
  dryRun: false,
  escalation: null,
  plan: plan(blackhole),
  isOut: true,
  ...fields,
});

const refreshed = (fields: Partial<Extract<BanEvent, { kind: "refreshed" }>> = {}): BanEvent => ({
  kind: "refreshed",
  ttlSeconds: 600,
  by: { operator: "", tenant: null },
  order: { terms: {}, ttlSeconds: null, reason: "" },
  isVirtual: false,
  escalation: null,
  ...fields,
});

/** The effect of each event on an active ban. */
const EVENTS: readonly (readonly [event: BanEvent, becomes: Partial<Ban>])[] = [
  [
    { kind: "attack_lasts", attackId: "a2", ttlSeconds: 900 },
    { heldBy: ["a1", "a2"], expiresAt: 900_500 },
  ],
  [
    { kind: "attack_ended", attackId: "a1" },
    { state: "withdrawn", reason: "attack ended", withdrawnAt: 500 },
  ],
  [refreshed({ ttlSeconds: 900 }), { manual: true, expiresAt: 900_500 }],
  [
    { kind: "taken_over", attack: attackOn(target, "a2"), escalation: null },
    { manual: false, dryRun: false, attackId: "a2", rate: 5000, countedFrom: 500, startedAt: 0 },
  ],
  [{ kind: "unbanned" }, { state: "withdrawn", reason: "manual unban", withdrawnAt: 500 }],
  [{ kind: "clock" }, {}],
  [
    { kind: "clock_stepped", byMs: 5 },
    { startedAt: 0, countedFrom: 5, expiresAt: 600_005 },
  ],
  [
    { kind: "planned", plan: plan(divert, { step: 1 }), isOut: true },
    { method: "divert", step: 1, retiring: [] },
  ],
  [{ kind: "announced" }, {}],
  [
    { kind: "moved", prefix: wider, plan: plan(widerBlackhole), isOut: true },
    { prefix: wider, target: wider.address, measure: widerBlackhole, retiring: [route], heldBy: ["a1"] },
  ],
  [
    { kind: "disallowed", reason: "target is whitelisted" },
    { state: "withdrawn", reason: "target is whitelisted", withdrawnAt: 500 },
  ],
  [
    { kind: "replaced", reason: "replaced by the ban of a worse attack: max_active_bans reached" },
    { state: "withdrawn", reason: "replaced by the ban of a worse attack: max_active_bans reached", withdrawnAt: 500 },
  ],
  [policy({ dryRun: true }), { state: "active", dryRun: true, retiring: [] }],
];

describe("each event", () => {
  test.each(EVENTS.map(([event, becomes]) => [event.kind, event, becomes] as const))(
    "%s changes an active ban as it should, and no other",
    (_, event, becomes) => {
      const active = ban();
      const changed = next(active, event, 500);
      expect(changed).toMatchObject(becomes);
      if (Object.keys(becomes).length === 0) expect(changed).toBe(active);
      for (const state of ["withdrawn", "rejected"] as const) {
        const over = ban({ state });
        expect(next(over, event, 10_000_000)).toBe(over);
      }
    },
  );

  test("is in the table", () => {
    const kinds: Record<BanEvent["kind"], true> = {
      attack_lasts: true,
      attack_ended: true,
      refreshed: true,
      taken_over: true,
      unbanned: true,
      clock: true,
      clock_stepped: true,
      planned: true,
      announced: true,
      moved: true,
      disallowed: true,
      replaced: true,
      policy: true,
    };
    expect(EVENTS.map(([{ kind }]) => kind)).toEqual(Object.keys(kinds) as BanEvent["kind"][]);
  });
});

describe("an active ban", () => {
  test("is extended in steps while its attack lasts", () => {
    const lasts = { kind: "attack_lasts", attackId: "a1", ttlSeconds: 600 } as const;
    expect(next(ban(), lasts, 9_999)).toEqual(ban());
    expect(next(ban(), lasts, 10_000).expiresAt).toBe(610_000);
  });

  test("is extended in smaller steps when its TTL is short", () => {
    const lasts = { kind: "attack_lasts", attackId: "a1", ttlSeconds: 4 } as const;
    expect(next(ban({ expiresAt: 4000 }), lasts, 999).expiresAt).toBe(4000);
    expect(next(ban({ expiresAt: 4000 }), lasts, 1000).expiresAt).toBe(5000);
  });

  test("is kept in force by a second attack and never shortened", () => {
    const manual = ban({ manual: true, attackId: null, heldBy: [], expiresAt: 900_000 });
    const pushed = next(manual, { kind: "attack_lasts", attackId: "a2", ttlSeconds: 600 }, 1000);
    expect(pushed).toMatchObject({ attackId: null, heldBy: ["a2"], expiresAt: 900_000 });
  });

  test("of both directions goes on until both attacks are over", () => {
    const shared = ban({ heldBy: ["in", "out"] });
    const half = next(shared, { kind: "attack_ended", attackId: "in" }, 7000);
    expect(half).toMatchObject({ state: "active", heldBy: ["out"] });
    expect(next(half, { kind: "attack_ended", attackId: "another" }, 7000)).toBe(half);
    expect(next(half, { kind: "attack_ended", attackId: "out" }, 8000)).toMatchObject({
      state: "withdrawn",
      withdrawnAt: 8000,
      reason: "attack ended",
    });
  });

  test("outlasts its attack when an operator requested it", () => {
    const over = next(ban({ manual: true }), { kind: "attack_ended", attackId: "a1" }, 7000);
    expect(over).toMatchObject({ state: "active", heldBy: [] });
    expect(next(over, { kind: "clock" }, 8000)).toBe(over);
  });

  test("that holds goes on without its attack until that time, and no longer", () => {
    const held = next(ban({ holdUntil: 300_000 }), { kind: "attack_ended", attackId: "a1" }, 7000);
    expect(held).toMatchObject({ state: "active", heldBy: [] });
    expect(next(held, { kind: "clock" }, 299_999)).toBe(held);
    expect(next(held, { kind: "clock" }, 300_000)).toMatchObject({ state: "withdrawn", reason: "attack ended" });
    const again = next(held, { kind: "attack_lasts", attackId: "a2", ttlSeconds: 600 }, 250_000);
    expect(next(again, { kind: "clock" }, 300_000)).toMatchObject({ state: "active", heldBy: ["a2"] });
  });

  test("is named after the operator who ordered it last", () => {
    const by = (operator: string, before = ban()) => next(before, refreshed({ by: { operator, tenant: null } }), 0);
    expect(by("night", by("noc")).operator).toBe("night");
    expect(by("", by("noc"))).not.toHaveProperty("operator");
  });

  test("keeps why it was ordered, but not for a tenant whose prefix was another's before", () => {
    const made = ban({ manual: true, tenant: "acme", orderReason: "ticket 7" });
    const by = (tenant: string | null) => next(made, refreshed({ by: { operator: "noc", tenant } }), 0).orderReason;
    expect([by("acme"), by(null), by("other")]).toEqual(["ticket 7", "ticket 7", undefined]);
  });

  test("keeps its start and becomes the operator's when refreshed", () => {
    expect(next(ban({ startedAt: 5 }), refreshed(), 60_000)).toMatchObject({
      startedAt: 5,
      manual: true,
      expiresAt: 660_000,
    });
  });

  test("ends at its expiry, not before", () => {
    expect(next(ban(), { kind: "clock" }, 599_999).state).toBe("active");
    expect(next(ban(), { kind: "clock" }, 600_000)).toMatchObject({ state: "withdrawn", reason: "ttl expired" });
  });

  test("keeps what is left of its time when the wall clock is set", () => {
    const day = 86_400_000;
    const ahead = next(ban({ holdUntil: 300_000 }), { kind: "clock_stepped", byMs: day }, day);
    expect(ahead).toMatchObject({ holdUntil: day + 300_000, countedFrom: day, startedAt: 0 });
    expect(next(ahead, { kind: "clock" }, day + 599_999).state).toBe("active");
    const back = next(ban({ expiresAt: day + 600_000 }), { kind: "clock_stepped", byMs: -day }, 0);
    expect(next(back, { kind: "clock" }, 600_000).state).toBe("withdrawn");
  });

  test("becomes virtual or real, and takes a new route, with the policy", () => {
    expect(next(ban(), policy({ dryRun: true }), 1)).toMatchObject({ state: "active", dryRun: true });
    expect(next(ban({ dryRun: true }), policy(), 1).dryRun).toBe(false);
    const other: Measure = { kind: "blackhole", route: { ...route, communities: communitiesOf("64500:1") } };
    expect(next(ban(), policy({ plan: plan(other) }), 1).measure).toEqual(other);
    const same = ban();
    expect(next(same, policy({ plan: plan({ kind: "blackhole", route: { ...route } }) }), 1)).toBe(same);
    const escalation = [{ afterSeconds: 0, action: "blackhole" }] as const;
    expect(next(same, policy({ escalation }), 1)).toMatchObject({ escalation, measure: blackhole });
  });
});

describe("what is done next", () => {
  const texts = (ban: Ban) => wantedRoutes(ban).map(routeKey).sort();
  const planned = (from: Ban, measure: Measure, isOut: boolean) =>
    next(from, { kind: "planned", plan: plan(measure), isOut }, 1);

  test("is announced beside what it takes the place of, until it is out", () => {
    const before = ban(plan(flowspec(6, 17)));
    const both = planned(before, blackhole, true);
    expect(texts(both)).toEqual(["192.0.2.1/32", "flow dst 192.0.2.1/32 proto tcp", "flow dst 192.0.2.1/32 proto udp"]);
    expect(texts(next(both, { kind: "announced" }, 2))).toEqual(["192.0.2.1/32"]);
  });

  test("takes the place of a route with the same key at once: a speaker has one of them", () => {
    expect(texts(planned(ban(), divert, true))).toEqual(["192.0.2.1/32"]);
    expect(texts(planned(ban(plan(flowspec(6, 17))), flowspec(17, 1), true))).toHaveLength(3);
  });

  test("leaves beside it what was out, not what never was", () => {
    const first = planned(ban(), flowspec(6), true);
    const second = planned(first, flowspec(17), false);
    expect(texts(second)).toEqual(["192.0.2.1/32", "flow dst 192.0.2.1/32 proto udp"]);
  });

  test("is of a wider prefix beside the one before, until that is out; of three the one in the middle goes", () => {
    const widest = prefix("192.0.0.0/22");
    const widestPlan = plan({ kind: "blackhole", route: { ...route, prefix: widest } });
    const first = next(ban(), { kind: "moved", prefix: wider, plan: plan(widerBlackhole), isOut: true }, 1);
    expect(texts(first)).toEqual(["192.0.2.0/24", "192.0.2.1/32"]);
    const second = next(first, { kind: "moved", prefix: widest, plan: widestPlan, isOut: false }, 2);
    expect(texts(second)).toEqual(["192.0.0.0/22", "192.0.2.1/32"]);
    expect(texts(next(second, { kind: "announced" }, 3))).toEqual(["192.0.0.0/22"]);
    const same = next(first, { kind: "moved", prefix: wider, plan: plan(widerBlackhole), isOut: true }, 2);
    expect(same).toBe(first);
    const virtual = ban({ dryRun: true });
    const moved = next(virtual, { kind: "moved", prefix: wider, plan: plan(widerBlackhole), isOut: true }, 1);
    expect(moved).toMatchObject({ dryRun: true, retiring: [] });
  });

  test("keeps what is out while its own rules are not known yet", () => {
    expect(texts(planned(ban(), flowspec(), true))).toEqual(["192.0.2.1/32"]);
  });

  test("may be nothing at all", () => {
    expect(texts(planned(ban(), NO_MEASURE, true))).toEqual([]);
    expect(texts(ban({ dryRun: true }))).toEqual([]);
    expect(texts(ban({ state: "withdrawn" }))).toEqual([]);
    expect(next(ban({ dryRun: true }), { kind: "planned", plan: plan(flowspec(6)), isOut: true }, 1).retiring).toEqual(
      [],
    );
  });

  test("is nothing new when it is the same", () => {
    const same = ban();
    expect(planned(same, { kind: "blackhole", route: { ...route } }, true)).toBe(same);
    const climbed = next(same, { kind: "planned", plan: plan(blackhole, { step: 1 }), isOut: true }, 1);
    expect(climbed).toMatchObject({ step: 1, measure: blackhole, retiring: [] });
  });
});

test("the kind of a change is its state first, then dry run, then the measure", () => {
  const kindOfChange = (changes: Partial<Ban>, previous: Ban | null = ban()) =>
    banChangeKind({ ban: ban(changes), previous });
  expect(kindOfChange({}, null)).toBe("active");
  expect(kindOfChange({ state: "rejected" }, null)).toBe("rejected");
  expect(kindOfChange({ state: "withdrawn", dryRun: true, ...plan(divert) })).toBe("withdrawn");
  expect(kindOfChange({ dryRun: true, ...plan(divert) })).toBe("dry_run");
  expect(kindOfChange(plan(divert))).toBe("changed");
  expect(kindOfChange(plan(blackhole, { step: 1 }))).toBe("changed");
  expect(kindOfChange(plan({ kind: "blackhole", route: { ...route } }))).toBeNull();
  expect(kindOfChange({ expiresAt: 700_000, heldBy: ["a1", "a2"], manual: true })).toBeNull();
});

test("a route reads as operators write it", () => {
  expect(routeText(route)).toBe("192.0.2.1/32 next-hop 192.0.2.254 community 65535:666");
  expect(routeText({ ...route, communities: communitiesOf("1:2", "3:4"), localPref: 200 })).toBe(
    "192.0.2.1/32 next-hop 192.0.2.254 community 1:2 3:4 local-pref 200",
  );
  expect(routeText({ ...route, communities: [] })).toBe("192.0.2.1/32 next-hop 192.0.2.254");
  expect(routeText(null)).toBe("");
  expect(measureText(NO_MEASURE)).toBe("");
  expect(measureText(flowspec(17))).toBe("dst 192.0.2.1/32 proto udp discard");
});

test("counts the orders of an operator, not what an attack or the clock changes", () => {
  const made = ban({ manual: true, attackId: null });
  expect(next(made, refreshed(), 1).reordered).toBe(1);
  expect(next(next(made, refreshed(), 1), refreshed(), 2).reordered).toBe(2);
  expect(next(ban({ manual: false }), refreshed(), 1).reordered).toBeUndefined();
  const lasting = next(made, { kind: "attack_lasts", attackId: "a1", ttlSeconds: 9000 }, 1);
  expect(lasting.expiresAt).toBeGreaterThan(made.expiresAt);
  expect(lasting.reordered).toBeUndefined();
  expect(next(made, { kind: "clock_stepped", byMs: 5 }, 1).reordered).toBeUndefined();
});
