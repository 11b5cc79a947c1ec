/** Bans whose method neighbors refuse: the fallback, and the return from it. */
import { describe, expect, test } from "bun:test";
import {
  attackOn,
  banBy,
  classified,
  flush,
  harness,
  NO_RULES,
  policy,
  started,
  under,
  victim,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { hostPrefix } from "../net/prefix.ts";
import { exactly } from "../net/range.ts";
import type { Ladder } from "./escalation.ts";
import type { FoundRules } from "./measure.ts";
import { NO_RULES_FOUND } from "./measure.ts";
import { REFUSED_FOR_MS, RETRY_HOLD_MAX_MS, RETRY_HOLD_MS } from "./route-watch.ts";
import { wideRule } from "./rules/rule.ts";

const UNICAST = "192.0.2.1/32";
const UDP = "flow dst 192.0.2.1/32 proto udp";
const TWO_RULES: FoundRules = {
  rules: [17, 1].map((protocol) => {
    return { ...wideRule(hostPrefix(victim), { kind: "discard" }), protocols: exactly(protocol) };
  }),
  matchesAll: false,
};
const ALL = "flow dst 192.0.2.1/32";
const LADDER: Ladder = [
  { afterSeconds: 0, action: "none" },
  { afterSeconds: 10, action: "flowspec" },
  { afterSeconds: 60, action: "divert" },
  { afterSeconds: 120, action: "blackhole" },
];
const refused = { kind: "failed", cause: "no neighbor takes it" } as const;

describe("a method that is refused", () => {
  test("is replaced by the fallback after REFUSED_FOR_MS, and stays until that is announced", () => {
    const { engine, announcer } = harness(under({ method: "flowspec" }));
    announcer.untaken.add("flowspec");
    announcer.states.set(UDP, refused);
    announcer.states.set(UNICAST, { kind: "pending" });
    const attack = classified(attackOn(), "udp_flood");
    engine.attacksChanged([started(attack)], 0);
    engine.tick(250);
    engine.tick(250 + REFUSED_FOR_MS - 1);
    expect(announcer.wanted).toEqual([UDP]);
    engine.tick(250 + REFUSED_FOR_MS);
    expect(announcer.wanted).toEqual([UNICAST, UDP]);
    expect(engine.banOf(attack)).toMatchObject({
      method: "blackhole",
      fallback: "bgp announce failed: no neighbor takes it",
    });
    announcer.states.delete(UNICAST);
    engine.tick(5000);
    engine.tick(50_000);
    expect(announcer.wanted).toEqual([UNICAST]);
  });

  test("for a shorter time is regarded as a session reset", () => {
    const { engine, announcer } = harness(under({ method: "flowspec" }));
    engine.attacksChanged([started(classified(attackOn(), "udp_flood"))], 0);
    for (let ms = 0; ms < 60_000; ms += 1000) {
      announcer.states.set(UDP, ms % 2000 === 0 ? refused : { kind: "announced" });
      engine.tick(ms);
    }
    expect(announcer.wanted).toEqual([UDP]);
  });

  test.each([{ kind: "no_session" }, { kind: "speaker_down", cause: "gone" }, { kind: "pending" }] as const)(
    "is not one of which no more is known than %j",
    (state) => {
      const { engine, announcer } = harness(under({ method: "flowspec" }));
      announcer.states.set(UDP, state);
      engine.attacksChanged([started(classified(attackOn(), "udp_flood"))], 0);
      for (let ms = 0; ms < 60_000; ms += 1000) engine.tick(ms);
      expect(announcer.wanted).toEqual([UDP]);
    },
  );

  test("has no fallback in dry run, by setting, or where it is that itself", async () => {
    const cases = [
      { ...under({ method: "flowspec" }), dryRun: true },
      under({ method: "flowspec", ban: { fallback: "none" } }),
      under({ method: "flowspec", ban: { fallback: "flowspec" } }),
    ];
    for (const overrides of cases) {
      const { engine, announcer } = harness(overrides);
      announcer.states.set(ALL, refused);
      await banBy(engine, victim, 0);
      for (let ms = 0; ms < 10_000; ms += 500) engine.tick(ms);
      expect([...engine.active.values()]).toMatchObject([{ method: "flowspec", fallback: null }]);
    }
  });

  test("falls back at once where there is no next hop for it", async () => {
    const { engine, announcer } = harness(under({ method: "divert", divert: null }));
    expect(await banBy(engine, victim, 0)).toMatchObject({
      method: "blackhole",
      fallback: "scrubbing has no next hop for IPv4",
    });
    expect(announcer.wanted).toEqual([UNICAST]);
  });

  test("stays replaced on rungs that are not more severe, and is not retried", async () => {
    const { engine, announcer } = harness(under({ ladder: LADDER }));
    announcer.states.set(ALL, refused);
    await banBy(engine, victim, 0);
    for (let ms = 0; ms <= 70_000; ms += 1000) engine.tick(ms);
    expect([...engine.active.values()]).toMatchObject([{ step: 2, method: "blackhole" }]);
    engine.tick(120_000);
    expect([...engine.active.values()]).toMatchObject([{ step: 3, method: "blackhole", fallback: null }]);
  });

  /** All of the victim's traffic by FlowSpec, refused as no neighbor takes it, and replaced by a blackhole. */
  async function replaced() {
    const made = harness(under({ method: "flowspec", ban: { ttlSeconds: 86_400 } }));
    made.announcer.untaken.add("flowspec");
    made.announcer.states.set(ALL, refused);
    await banBy(made.engine, victim, 0);
    made.engine.tick(0);
    made.engine.tick(REFUSED_FOR_MS);
    made.engine.tick(REFUSED_FOR_MS + 250);
    await flush(made.engine);
    expect(made.announcer.wanted).toEqual([UNICAST]);
    return made;
  }

  test("returns when neighbors have taken it again for RETRY_HOLD_MS, make before break", async () => {
    const { engine, announcer } = await replaced();
    announcer.untaken.clear();
    announcer.states.set(ALL, { kind: "pending" });
    engine.tick(10_000);
    engine.tick(9_999 + RETRY_HOLD_MS);
    expect(announcer.wanted).toEqual([UNICAST]);
    engine.tick(10_000 + RETRY_HOLD_MS);
    expect(announcer.wanted).toEqual([UNICAST, ALL].sort());
    expect([...engine.active.values()]).toMatchObject([{ method: "flowspec", fallback: null }]);
    announcer.states.delete(ALL);
    engine.tick(10_250 + RETRY_HOLD_MS);
    expect(announcer.wanted).toEqual([ALL]);
  });

  test("stays replaced while the neighbors that take it come and go", async () => {
    const { engine, announcer } = await replaced();
    for (let ms = 10_000; ms < 10 * RETRY_HOLD_MS; ms += 1000) {
      if (ms % RETRY_HOLD_MS === 0) announcer.untaken.add("flowspec");
      else announcer.untaken.clear();
      engine.tick(ms);
      expect(announcer.wanted).toEqual([UNICAST]);
    }
  });

  test("is tried again ever more seldom if it is refused each time", async () => {
    const { engine, announcer } = await replaced();
    announcer.untaken.clear();
    const tries: number[] = [];
    for (let ms = 10_000; ms < 4 * RETRY_HOLD_MAX_MS; ms += 1000) {
      const before = announcer.wanted.length;
      engine.tick(ms);
      expect(announcer.wanted).toContain(UNICAST);
      if (announcer.wanted.length > before) tries.push(ms);
    }
    // Two ticks: the refusal is seen in the first after the try, and the fallback's route in the first after that.
    const tryMs = REFUSED_FOR_MS + 2 * 1000;
    const pauses = tries.slice(1).map((ms, i) => ms - (tries[i] ?? 0) - tryMs);
    expect(pauses.slice(0, 3)).toEqual([2 * RETRY_HOLD_MS, 4 * RETRY_HOLD_MS, 8 * RETRY_HOLD_MS]);
    expect(Math.max(...pauses)).toBe(RETRY_HOLD_MAX_MS);
  });

  test("returns after a restart too", async () => {
    const { disk } = await replaced();
    const { engine, announcer } = harness(under({ method: "flowspec", ban: { ttlSeconds: 86_400 } }));
    engine.restore({ bans: [...disk.values()], attacks: [] }, 10_000);
    expect(announcer.wanted).toEqual([UNICAST]);
    engine.tick(10_000);
    engine.tick(10_000 + RETRY_HOLD_MS);
    engine.tick(10_250 + RETRY_HOLD_MS);
    expect(announcer.wanted).toEqual([ALL]);
  });

  test("is tried again when a reload changes what is to be done, not when it changes nothing", async () => {
    const { engine, announcer } = harness(under({ method: "flowspec" }));
    announcer.states.set(ALL, refused);
    await banBy(engine, victim, 0);
    for (let ms = 0; ms <= 10_000; ms += 500) engine.tick(ms);
    engine.reconfigure(policy(under({ method: "flowspec" })), 10_100);
    expect(announcer.wanted).toEqual([UNICAST]);
    announcer.states.delete(ALL);
    engine.reconfigure(policy(under({ method: "flowspec", ban: { ttlSeconds: 7 } })), 10_200);
    engine.tick(10_250);
    expect(announcer.wanted).toEqual([ALL]);
  });
});

test("an announced ban names each neighbor once that misses one of its routes", async () => {
  const { engine, announcer } = harness(under({ method: "flowspec" }));
  const ban = await banBy(engine, victim, 0);
  expect(engine.routeState(ban)).toEqual({ kind: "announced" });
  announcer.missing = [
    { neighbor: "192.0.2.250", cause: "no session" },
    { neighbor: "192.0.2.250", cause: "another one" },
  ];
  announcer.sentToAll = ["192.0.2.249"];
  expect(engine.routeState(ban)).toEqual({
    kind: "announced",
    missingAt: [{ neighbor: "192.0.2.250", cause: "no session" }],
    sentTo: ["192.0.2.249"],
  });
  announcer.states.set(ALL, { kind: "no_session" });
  expect(engine.routeState(ban)).toEqual({ kind: "no_session" });
});

test("a rule for which there is no room is left out beside others, and the ban says at which neighbor", async () => {
  const made = harness(under({ method: "flowspec" }), { makeRules: () => TWO_RULES });
  const { engine, announcer } = made;
  const ban = await banBy(engine, victim, 0);
  const [first = "", second = ""] = announcer.wanted;
  const cause = "its policy has room for 1 rules";
  announcer.states.set(second, { kind: "failed", cause, isBeyondRoom: true });
  announcer.missing = [{ neighbor: "192.0.2.250", cause, isBeyondRoom: true }];
  announcer.sentToAll = ["192.0.2.250"];
  expect(engine.routeState(ban)).toMatchObject({
    kind: "announced",
    sentTo: ["192.0.2.250"],
    limitedAt: [{ neighbor: "192.0.2.250", cause }],
  });
  engine.tick(REFUSED_FOR_MS);
  engine.tick(3 * REFUSED_FOR_MS);
  expect(engine.active.get("192.0.2.1/32")?.method).toBe("flowspec");
  // Without any of them it has failed.
  announcer.states.set(first, { kind: "failed", cause, isBeyondRoom: true });
  expect(engine.routeState(ban)).toMatchObject({ kind: "failed", cause });
  engine.tick(4 * REFUSED_FOR_MS);
  engine.tick(6 * REFUSED_FOR_MS);
  expect(engine.active.get("192.0.2.1/32")?.method).toBe("blackhole");
});

test("rules that were looked for and not found are a failed announcement where nothing takes their place", async () => {
  const terms = under({ method: "flowspec", ban: { fallback: "none" } });
  const { engine } = harness(terms, { makeRules: () => NO_RULES });
  const ban = await banBy(engine, victim, 0);
  expect([ban.method, engine.routeState(ban)]).toEqual(["flowspec", { kind: "failed", cause: NO_RULES_FOUND }]);
  const virtual = harness({ ...terms, dryRun: true }, { makeRules: () => NO_RULES });
  expect(virtual.engine.routeState(await banBy(virtual.engine, victim, 0))).toBeNull();
});

test("announced rules name the neighbors that may find them invalid, other routes none", async () => {
  const sentTo = ["192.0.2.248", "192.0.2.249"];
  for (const method of ["flowspec", "blackhole"] as const) {
    const { engine, announcer } = harness(under({ method }));
    announcer.sentToAll = sentTo;
    announcer.external.add("192.0.2.249");
    const state = engine.routeState(await banBy(engine, victim, 0));
    const invalid = method === "flowspec" ? { maybeInvalidAt: ["192.0.2.249"] } : {};
    expect(state).toEqual({ kind: "announced", sentTo, ...invalid });
  }
});

describe("FlowSpec without a rule", () => {
  const rule = { ...wideRule(hostPrefix(victim), { kind: "discard" }), protocols: exactly(17) };
  const spared = { verdict: "yes", usersAtRisk: 0, estimatedBy: "profile" } as const;
  const lost = { verdict: "no", usersAtRisk: null, estimatedBy: "profile" } as const;
  const RULES: FoundRules = { rules: [rule], matchesAll: false, separability: spared };
  const AT_RISK: FoundRules = { ...RULES, separability: { ...lost, usersAtRisk: 0.5 } };
  const NONE: FoundRules = { rules: [], matchesAll: false, separability: lost };

  function world(overrides: Parameters<typeof under>[0], first: FoundRules) {
    let found = first;
    const made = harness(
      { ...under({ method: "flowspec", ...overrides }), evidenceWaitMs: 1000 },
      { makeRules: () => found },
    );
    const attack = classified(attackOn(), "udp_flood");
    made.engine.attacksChanged([started(attack)], 0);
    made.engine.attackClassified(attack, 20);
    return {
      ...made,
      attack,
      find: (rules: FoundRules, ms: number) => {
        found = rules;
        made.engine.attackClassified(attack, ms, "newer");
      },
    };
  }

  test("waits for the classification first: nothing has failed yet", () => {
    const { engine, announcer } = harness({ ...under({ method: "flowspec" }), evidenceWaitMs: 1000 });
    engine.attacksChanged([started(attackOn())], 0);
    engine.tick(100);
    expect(announcer.wanted).toEqual([]);
  });

  test("has failed, and the fallback acts at once", () => {
    const { engine, announcer, attack } = world({}, NONE);
    expect(announcer.wanted).toEqual([UNICAST]);
    expect(engine.banOf(attack)).toMatchObject({ method: "blackhole", fallback: NO_RULES_FOUND });
    for (let ms = 100; ms < 5000; ms += 100) engine.tick(ms);
    expect(announcer.wanted).toEqual([UNICAST]);
  });

  test("goes to the next rung of its ladder at once, and to one after that in its time", () => {
    const { engine, announcer, attack } = world({ ladder: LADDER.slice(1).map(fromZero) }, NONE);
    expect(engine.banOf(attack)).toMatchObject({ method: "divert", step: 1, fallback: null });
    engine.tick(49_000);
    expect(engine.banOf(attack)).toMatchObject({ method: "divert", step: 1 });
    engine.tick(111_000);
    expect(engine.banOf(attack)).toMatchObject({ method: "blackhole", step: 2 });
    expect(announcer.wanted).toEqual([UNICAST]);
  });

  test("comes back for rules that are known to spare users, and for no others", () => {
    const { engine, announcer, attack, find } = world({}, NONE);
    find(AT_RISK, 1020);
    expect(engine.banOf(attack)?.method).toBe("blackhole");
    find(RULES, 2020);
    engine.tick(2100);
    expect(engine.banOf(attack)).toMatchObject({ method: "flowspec", fallback: null });
    expect(announcer.wanted).toEqual([UDP]);
  });

  test("withdraws the rules that it had, with the fallback once that is announced, and without one at once", () => {
    const replaced = world({}, RULES);
    expect(replaced.announcer.wanted).toEqual([UDP]);
    replaced.announcer.states.set(UNICAST, { kind: "pending" });
    replaced.find(NONE, 1020);
    expect(replaced.announcer.wanted).toEqual([UNICAST, UDP]);
    replaced.announcer.states.delete(UNICAST);
    replaced.engine.tick(1100);
    expect(replaced.announcer.wanted).toEqual([UNICAST]);

    const alone = world({ ban: { fallback: "none" } }, RULES);
    alone.find(NONE, 1020);
    expect(alone.announcer.wanted).toEqual([]);
    expect(alone.engine.banOf(alone.attack)).toMatchObject({ method: "flowspec", retiring: [], fallback: null });
  });

  function fromZero({ afterSeconds, action }: Ladder[number]): Ladder[number] {
    return { afterSeconds: afterSeconds - 10, action };
  }
});
