import { describe, expect, test } from "bun:test";
import { openBaselines } from "../../../test/fixtures/baselines.ts";
import { address, type HostRowFields, hostRows, thresholds } from "../../../test/fixtures/host-rows.ts";
import { hostgroup, policyFor } from "../../../test/fixtures/hostgroups.ts";
import { calmOf } from "../attack/attack.ts";
import { AttackLog } from "../attack/attack-log.ts";
import { type AttackChange, type DetectionPolicy, Detector } from "./detector.ts";
import { screensFor } from "./screens.ts";

const GLOBAL = hostgroup({ pps: 1000, mbps: 100, flows_per_sec: 500 });
const SHOP = hostgroup({ pps: 50, mbps: 100, flows_per_sec: 500 }, { name: "shop" });

function detector(overrides: Partial<DetectionPolicy> = {}) {
  let ids = 0;
  const policy = policyFor([GLOBAL, SHOP], { hysteresisMs: () => 300, maxActive: 3, ...overrides });
  const made = new Detector(policy, () => `attack-${++ids}`);
  const tick = (monotonicMs: number, ...hosts: HostRowFields[]) =>
    made
      .judge(hostRows(...hosts), hosts.length, { wallMs: 1_000_000 + monotonicMs, monotonicMs })
      .map(({ kind, attack }) => `${kind} ${attack.target} ${attack.metric}`);
  return { made, tick, policy };
}

const flood = (target = "192.0.2.1", pps = 5000): HostRowFields => ({ target, rates: { pps } });

describe("detection", () => {
  test("starts an attack at the first tick over a threshold, says that it lasts, and ends it after the hysteresis", () => {
    const { tick } = detector();
    expect(tick(0, flood())).toEqual(["started 192.0.2.1 pps"]);
    expect(tick(100, flood())).toEqual(["lasts 192.0.2.1 pps"]);
    expect(tick(200)).toEqual(["lasts 192.0.2.1 pps"]);
    expect(tick(499)).toEqual(["lasts 192.0.2.1 pps"]);
    expect(tick(500)).toEqual(["ended 192.0.2.1 pps"]);
    expect(tick(600)).toEqual([]);
  });

  test("says how long an attack has been calm, and after how long a calm it ends", () => {
    const { made, tick } = detector();
    const calm = (monotonicMs: number) => {
      const [attack] = made.active.values();
      return attack === undefined ? undefined : calmOf(attack, made.endsAfterSeconds(attack), monotonicMs);
    };
    tick(0, flood());
    expect(calm(50)).toBeNull();
    tick(100);
    expect(calm(100)).toEqual({ seconds: 0, ofSeconds: 0.3 });
    expect(calm(350)).toEqual({ seconds: 0.25, ofSeconds: 0.3 });
    expect(calm(900)).toEqual({ seconds: 0.3, ofSeconds: 0.3 });
    tick(360, flood());
    expect(calm(360)).toBeNull();
  });

  test("takes a rate equal to the threshold for no attack", () => {
    expect(detector().tick(0, flood("192.0.2.1", 1000))).toEqual([]);
  });

  test("judges a host by its own group's thresholds", () => {
    const { tick } = detector();
    expect(tick(0, { ...flood("192.0.2.2", 60), group: 1 }, flood("192.0.2.3", 60))).toEqual(["started 192.0.2.2 pps"]);
  });

  test("waits until the rate has held for the sustain time, without a gap", () => {
    const { tick } = detector({ sustainMs: 300 });
    expect(tick(0, flood())).toEqual([]);
    expect(tick(200, flood())).toEqual([]);
    expect(tick(250)).toEqual([]);
    expect(tick(300, flood())).toEqual([]);
    expect(tick(599, flood())).toEqual([]);
    expect(tick(600, flood())).toEqual(["started 192.0.2.1 pps"]);
  });

  test("judges the end by the thresholds of the start, whatever a reload made of them", () => {
    const { made, tick, policy } = detector();
    tick(0, flood("192.0.2.1", 1500));
    made.reconfigure({
      ...policy,
      hostgroups: [{ ...GLOBAL, thresholds: thresholds({ pps: 1e6, mbps: 1, flows_per_sec: 1 }) }],
    });
    expect(tick(1000, flood("192.0.2.1", 1500))).toEqual(["lasts 192.0.2.1 pps"]);
    expect(tick(2000, flood("192.0.2.9", 1500))).toEqual(["lasts 192.0.2.1 pps"]);
  });

  test("counts what it refuses over the bound of attacks in progress", () => {
    const { made, tick } = detector({ maxActive: 1 });
    tick(0, flood("192.0.2.1"), flood("192.0.2.2"));
    expect([...made.active.targets()]).toEqual([address("192.0.2.1")]);
    expect(made.refused).toBe(1);
  });

  test("replaces the attack that has been calm for longest when the table is full", () => {
    const { made, tick } = detector({ maxActive: 2, hysteresisMs: () => 60_000 });
    tick(0, flood("192.0.2.1"), flood("192.0.2.2"));
    tick(100, flood("192.0.2.2"));
    tick(200);
    // The new one is smaller than both were.
    expect(tick(300, flood("192.0.2.3", 1100))).toEqual([
      "ended 192.0.2.1 pps",
      "started 192.0.2.3 pps",
      "lasts 192.0.2.2 pps",
    ]);
    expect([made.replaced, made.refused]).toEqual([1, 0]);
  });

  test("replaces the smallest attack when none is calm, if the new one is twice as large", () => {
    const { made, tick } = detector({ maxActive: 2 });
    const [small, large] = [flood("192.0.2.1", 2000), flood("192.0.2.2", 5000)];
    tick(0, large, small);
    expect(tick(100, large, small, flood("192.0.2.3", 3999))).not.toContain("started 192.0.2.3 pps");
    expect(tick(200, large, small, flood("192.0.2.3", 4000)).slice(2)).toEqual([
      "ended 192.0.2.1 pps",
      "started 192.0.2.3 pps",
    ]);
    // Back and forth would be a start and an end in each tick.
    expect(tick(300, large, flood("192.0.2.3", 4000), small)).not.toContain("started 192.0.2.1 pps");
    expect([made.replaced, made.refused]).toEqual([1, 2]);
  });

  test("compares attacks by their packets and bits, whatever the thresholds of their groups are", () => {
    const { tick } = detector({ maxActive: 2 });
    const often = { ...flood("192.0.2.1", 900), group: 1 };
    const wide = { target: "192.0.2.2", rates: { pps: 100, mbps: 120 } };
    tick(0, often, wide);
    // 18 times the threshold of its group against twice that of another one.
    expect(tick(100, often, wide, flood("192.0.2.3", 2000)).slice(2)).toEqual([
      "ended 192.0.2.1 pps",
      "started 192.0.2.3 pps",
    ]);
  });

  test("goes on with an attack that an earlier process saw start", () => {
    const before = detector();
    before.tick(0, flood());
    const after = detector();
    after.made.restore([...before.made.active.values()]);
    expect(after.tick(50_000)).toEqual(["lasts 192.0.2.1 pps"]);
    expect(after.tick(50_300)).toEqual(["ended 192.0.2.1 pps"]);
  });

  test("ends attacks by the hysteresis of their group", () => {
    const { tick } = detector({ hysteresisMs: (group) => (group === "shop" ? 0 : 300) });
    tick(0, flood("192.0.2.1"), { ...flood("192.0.2.2"), group: 1 });
    expect(tick(100)).toEqual(["lasts 192.0.2.1 pps", "ended 192.0.2.2 pps"]);
  });

  test("skips a row whose group a reload has just removed", () => {
    expect(detector().tick(0, { ...flood(), group: 7 })).toEqual([]);
  });
});

describe("outgoing detection", () => {
  const OUT = hostgroup({ pps: 1000 }, { thresholdsOutgoing: thresholds({ pps: 200 }) });
  const named = ({ kind, attack }: AttackChange) => `${kind} ${attack.direction} ${attack.target} ${attack.threshold}`;
  const judging = (hostgroups = [OUT]) => {
    let ids = 0;
    const made = new Detector(policyFor(hostgroups), () => `a${++ids}`);
    return (...hosts: HostRowFields[]) =>
      made.judge(hostRows(...hosts), hosts.length, { wallMs: 0, monotonicMs: 0 }).map(named);
  };

  test("judges what a host sends by thresholds of its own", () => {
    expect(judging()({ target: "192.0.2.1", rates: {}, outgoing: { pps: 201 } })).toEqual([
      "started outgoing 192.0.2.1 200",
    ]);
    expect(judging()({ target: "192.0.2.1", rates: { pps: 201 }, outgoing: { pps: 200 } })).toEqual([]);
  });

  test("judges nothing that is sent without thresholds for it", () => {
    const judge = judging([hostgroup({ pps: 1000 })]);
    expect(judge({ target: "192.0.2.1", rates: {}, outgoing: { pps: 1e9 } })).toEqual([]);
  });

  test("has one attack in each direction on the same host, each with an end of its own", () => {
    const judge = judging();
    expect(judge({ target: "192.0.2.1", rates: { pps: 1001 }, outgoing: { pps: 201 } })).toEqual([
      "started incoming 192.0.2.1 1000",
      "started outgoing 192.0.2.1 200",
    ]);
    expect(judge({ target: "192.0.2.1", rates: { pps: 1001 }, outgoing: { pps: 1 } })).toEqual([
      "lasts incoming 192.0.2.1 1000",
      "ended outgoing 192.0.2.1 200",
    ]);
    expect(judge()).toEqual(["ended incoming 192.0.2.1 1000"]);
  });
});

describe("a hostgroup judged as a whole", () => {
  const WHOLE = hostgroup({ pps: 1000 }, { name: "whole", calculation: "total" });
  const setUp = () => {
    let ids = 0;
    const made = new Detector(policyFor([GLOBAL, WHOLE]), () => `a${++ids}`);
    const judge = (pps: number, ...hosts: HostRowFields[]) => {
      const sums = hostRows({ target: "0.0.0.0", rates: {} }, { target: "0.0.0.0", rates: { pps } });
      return made
        .judge(hostRows(...hosts), hosts.length, { wallMs: 0, monotonicMs: 0 }, sums)
        .map(({ kind, attack: { scope, target, group } }) => `${kind} ${scope} ${target} ${group}`);
    };
    return { made, judge };
  };

  test("is attacked when the sum of its hosts is over its thresholds", () => {
    const { judge } = setUp();
    expect(judge(1000)).toEqual([]);
    expect(judge(1001)).toEqual(["started group null whole"]);
    expect(judge(1001)).toEqual(["lasts group null whole"]);
    expect(judge(1)).toEqual(["ended group null whole"]);
  });

  test("has no attack on a single host", () => {
    expect(setUp().judge(0, { ...flood(), group: 1 })).toEqual([]);
  });

  test("ends its attack when a reload takes the group away", () => {
    const { made, judge } = setUp();
    judge(1001);
    made.reconfigure(policyFor([GLOBAL]));
    expect(made.groupsToRead).toBe(1);
    expect(judge(1001)).toEqual(["ended group null whole"]);
    expect(made.groupsToRead).toBe(0);
  });

  test("goes on with its attack after a restart", () => {
    const before = setUp();
    before.judge(1001);
    const after = setUp();
    after.made.restore([...before.made.active.values()]);
    expect(after.judge(1001)).toEqual(["lasts group null whole"]);
  });
});

describe("a learned limit", () => {
  const baseline = { factor: 3, halfLifeSeconds: 60, warmupSeconds: 10, seasonal: false, floor: [100, 1000, 1000] };
  const GROUP = hostgroup({ pps: 1000, mbps: 100 }, { baseline });
  const at = (monotonicMs: number) => ({ wallMs: 0, monotonicMs });
  const setUp = (learnedSeconds: number, pps: number) => {
    let ids = 0;
    const baselines = openBaselines();
    const made = new Detector(policyFor([GROUP]), () => `a${++ids}`, baselines);
    const rows = hostRows({ target: "192.0.2.1", rates: { pps } });
    const learner = { keys: rows.addresses, at: 0, group: GROUP, direction: "incoming" } as const;
    const moment = { nowSeconds: 0, seconds: learnedSeconds };
    if (learnedSeconds > 0) baselines.learn(learner, thresholds({ pps }), 0, moment);
    const judge = (seen: number) => made.judge(hostRows({ target: "192.0.2.1", rates: { pps: seen } }), 1, at(0))[0];
    return { judge };
  };

  test("starts the attack, ends it, and is in the reason", () => {
    const { judge } = setUp(60, 50);
    expect(judge(150)).toBeUndefined();
    expect(judge(151)?.attack).toMatchObject({
      metric: "pps",
      threshold: 150,
      reason: {
        thresholdSource: "baseline",
        baseline: { normal: 50, factor: 3, floor: 100, ceiling: 1000 },
        baselineConfigured: true,
        warmupRemainingSeconds: null,
      },
    });
    expect(judge(151)?.kind).toBe("lasts");
    expect(judge(150)?.kind).toBe("ended");
  });

  test("does not hold before its warm-up is over, and the reason says so", () => {
    const { judge } = setUp(4, 50);
    expect(judge(1000)).toBeUndefined();
    expect(judge(1001)?.attack).toMatchObject({
      threshold: 1000,
      reason: { thresholdSource: "static", baseline: null, baselineConfigured: true, warmupRemainingSeconds: 6 },
    });
  });

  test("never raises the threshold", () => {
    const { judge } = setUp(60, 900);
    expect(judge(1001)?.attack).toMatchObject({
      threshold: 1000,
      reason: { thresholdSource: "static", baselineConfigured: true, warmupRemainingSeconds: null },
    });
  });

  test("has the packet counter hand over hosts from the floor on", () => {
    expect([...screensFor([GROUP]).slice(0, 3)]).toEqual([100, 100, Number.POSITIVE_INFINITY]);
  });
});

test("screens hand over hosts by what they send as well, and no host of a group that is judged as a whole", () => {
  const screens = screensFor([
    hostgroup({ pps: 1000 }, { thresholdsOutgoing: thresholds({ mbps: 7 }) }),
    hostgroup({ pps: 1000 }, { calculation: "total" }),
  ]);
  expect([...screens.slice(13, 16)]).toEqual([Number.POSITIVE_INFINITY, 7, Number.POSITIVE_INFINITY]);
  expect(screens.slice(26).every((screen) => screen === Number.POSITIVE_INFINITY)).toBe(true);
});

test("screens hand over what a threshold judges and nothing else", () => {
  const screens = screensFor([GLOBAL, SHOP]);
  expect([...screens.slice(0, 4)]).toEqual([1000, 100, 500, Number.POSITIVE_INFINITY]);
  expect(screens[26]).toBe(50);
  expect(screens[13]).toBe(Number.POSITIVE_INFINITY);
});

test("the log keeps the newest ended attacks up to its bound", () => {
  const { made } = detector({ hysteresisMs: () => 0 });
  const log = new AttackLog(2);
  for (let i = 1; i <= 3; i++) {
    const now = { wallMs: i, monotonicMs: i };
    made.judge(hostRows(flood(`192.0.2.${i}`)), 1, now);
    for (const { kind, attack } of made.judge(hostRows(), 0, now)) if (kind === "ended") log.add(attack);
  }
  expect(log.ended.map(({ target }) => target)).toEqual([address("192.0.2.3"), address("192.0.2.2")]);
});
