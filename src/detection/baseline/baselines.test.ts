import { describe, expect, test } from "bun:test";
import { openBaselines } from "../../../test/fixtures/baselines.ts";
import { address, thresholds } from "../../../test/fixtures/host-rows.ts";
import { hostgroup } from "../../../test/fixtures/hostgroups.ts";
import { addressToBytes } from "../../net/address.ts";
import type { RatesWire } from "../../traffic/rates.ts";
import type { BaselineConfig } from "./baseline-config.ts";

const BASELINE: BaselineConfig = {
  factor: 3,
  halfLifeSeconds: 60,
  warmupSeconds: 10,
  seasonal: false,
  floor: [100, 10, 50],
};
const STATIC = { baseline: null, normalOf: "recent", warmupRemainingSeconds: null } as const;
const LIMITS = { pps: 10_000, mbps: 1000, flows_per_sec: 500, tcp_syn_pps: 77 };

function harness(
  changes: Partial<BaselineConfig> = {},
  group = hostgroup(LIMITS, { baseline: { ...BASELINE, ...changes } }),
) {
  const baselines = openBaselines({ capacity: 16, directions: 2 });
  baselines.reconfigure([group]);
  const learner = { keys: addressToBytes(address("192.0.2.1")), at: 0, group, direction: "incoming" } as const;
  let nowSeconds = 0;
  const learn = (rates: Partial<RatesWire>, times: number, seconds = 1) => {
    for (let i = 0; i < times; i++) {
      nowSeconds += seconds;
      baselines.learn(learner, thresholds(rates), 0, { nowSeconds, seconds });
    }
  };
  const limits = () => Array.from(baselines.limits(learner) ?? []);
  return { baselines, learner, learn, limits };
}

describe("a limit", () => {
  test("is the threshold until enough traffic was seen", () => {
    const { baselines, learner, learn, limits } = harness();
    expect(limits()).toEqual(thresholds(LIMITS));
    expect(baselines.origin(learner, 0)).toEqual({ ...STATIC, warmupRemainingSeconds: 10 });
    learn({ pps: 1000 }, 9);
    expect(limits()).toEqual(thresholds(LIMITS));
    expect(baselines.origin(learner, 0)).toEqual({ ...STATIC, warmupRemainingSeconds: 1 });
    learn({ pps: 1000 }, 1);
    expect(limits().slice(0, 4)).toEqual([3000, 10, 50, 0]);
  });

  test("is the normal rate times the factor, not below the floor and not above the threshold", () => {
    const { baselines, learner, learn, limits } = harness();
    learn({ pps: 1000, mbps: 1, flows_per_sec: 400, tcp_syn_pps: 400 }, 20);
    expect(limits().slice(0, 3)).toEqual([3000, 10, 500]);
    expect(limits()[9]).toBe(77);
    const origin = (metric: number) => baselines.origin(learner, metric);
    expect(origin(0)).toEqual({
      baseline: { normal: 1000, factor: 3, floor: 100, ceiling: 10_000 },
      normalOf: "recent",
      warmupRemainingSeconds: null,
    });
    expect(origin(1).baseline).toEqual({ normal: 1, factor: 3, floor: 10, ceiling: 1000 });
    // The static threshold applies, and the protocol metrics have no baseline.
    for (const metric of [2, 9]) expect(origin(metric)).toEqual(STATIC);
  });

  test("of a metric that is not judged stays off", () => {
    const group = hostgroup({ pps: 10_000 }, { baseline: { ...BASELINE, warmupSeconds: 0 } });
    expect(harness({}, group).limits()).toEqual(thresholds({ pps: 100 }));
  });

  test("without a warm-up begins at the floor", () => {
    expect(harness({ warmupSeconds: 0 }).limits().slice(0, 3)).toEqual([100, 10, 50]);
  });

  test("of what a host sends is learned apart, under its own threshold", () => {
    const group = hostgroup(LIMITS, { baseline: BASELINE, thresholdsOutgoing: thresholds({ pps: 2000 }) });
    const { baselines, learner, learn } = harness({}, group);
    const sending = { ...learner, direction: "outgoing" } as const;
    learn({ pps: 1000 }, 20);
    expect(Array.from(baselines.limits(sending) ?? [])).toEqual(thresholds({ pps: 2000 }));
    for (let i = 0; i < 20; i++) baselines.learn(sending, thresholds({ pps: 200 }), 0, { nowSeconds: i, seconds: 1 });
    expect(Array.from(baselines.limits(sending) ?? [])).toEqual(thresholds({ pps: 600 }));
    expect(baselines.normal(learner)?.[0]).toBeCloseTo(1000);
    expect(baselines.normal(sending)?.[0]).toBeCloseTo(200);
  });

  test("of a direction that is not judged is none", () => {
    const { baselines, learner } = harness();
    expect(baselines.limits({ ...learner, direction: "outgoing" })).toBeNull();
  });

  test("of a hostgroup as a whole is learned beside its hosts", () => {
    const group = hostgroup(LIMITS, { name: "web", calculation: "total", baseline: BASELINE });
    const { baselines } = harness({}, group);
    const whole = baselines.ofGroup(group, "incoming");
    for (let i = 0; i < 20; i++) baselines.learn(whole, thresholds({ pps: 500 }), 0, { nowSeconds: i, seconds: 1 });
    expect(Array.from(baselines.limits(whole) ?? []).slice(0, 1)).toEqual([1500]);
    const other = baselines.ofGroup({ ...group, name: "mail" }, "incoming");
    expect(baselines.origin(other, 0).warmupRemainingSeconds).toBe(10);
  });
});

describe("what is normal", () => {
  test("is the plain mean at first, and after a half-life halfway to what came since", () => {
    const { baselines, learner, learn } = harness({ factor: 100, warmupSeconds: 0 });
    learn({ pps: 10 }, 30);
    learn({ pps: 20 }, 30);
    expect(baselines.normal(learner)?.[0]).toBeCloseTo(15, 1);
    learn({ pps: 10 }, 600);
    expect(baselines.normal(learner)?.[0]).toBeCloseTo(10, 1);
    learn({ pps: 30 }, 60);
    expect(baselines.normal(learner)?.[0]).toBeCloseTo(20, 1);
  });

  test("comes out the same whatever the pauses between two passes", () => {
    const after = (seconds: number) => {
      const { baselines, learner, learn } = harness({ factor: 100 });
      learn({ pps: 10 }, 600 / seconds, seconds);
      learn({ pps: 30 }, 60 / seconds, seconds);
      return baselines.normal(learner)?.[0] ?? 0;
    };
    expect(after(5)).toBeCloseTo(after(1), 3);
  });

  test("takes no more from what crawls up than the limit", () => {
    const { baselines, learner, learn, limits } = harness();
    learn({ pps: 1000 }, 600);
    learn({ pps: 9000 }, 1);
    const once = baselines.normal(learner)?.[0] ?? 0;
    const { learn: learnClamped, ...clamped } = harness();
    learnClamped({ pps: 1000 }, 600);
    learnClamped({ pps: 3000 }, 1);
    expect(once).toBe(clamped.baselines.normal(clamped.learner)?.[0] ?? 0);
    expect(limits()[0]).toBeLessThan(3100);
  });

  test("grows from nothing once there is traffic under the floor", () => {
    const { baselines, learner, learn } = harness();
    learn({ flows_per_sec: 1 }, 20);
    learn({ pps: 90 }, 600);
    expect(baselines.normal(learner)?.[0]).toBeCloseTo(90, 0);
  });

  test("is zero of a host that is not known, and nothing where no baseline is configured", () => {
    const { baselines, learner } = harness();
    expect(baselines.normal(learner)).toEqual([0, 0, 0]);
    expect(baselines.normalPps(learner)).toBeNull();
    const { baseline: _, ...group } = learner.group;
    expect(baselines.normal({ ...learner, group: { ...group, baseline: null } })).toBeNull();
  });

  test("is kept while a reload has it switched off", () => {
    const { baselines, learner, learn } = harness();
    learn({ pps: 1000 }, 20);
    baselines.reconfigure([hostgroup(LIMITS)]);
    baselines.reconfigure([learner.group]);
    expect(baselines.normal(learner)?.[0]).toBeCloseTo(1000);
  });
});
