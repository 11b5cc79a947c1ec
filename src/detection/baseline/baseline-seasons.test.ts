import { describe, expect, test } from "bun:test";
import { knownOf, openBaselines } from "../../../test/fixtures/baselines.ts";
import { address, thresholds } from "../../../test/fixtures/host-rows.ts";
import { hostgroup } from "../../../test/fixtures/hostgroups.ts";
import { addressToBytes } from "../../net/address.ts";
import type { BaselineConfig } from "./baseline-config.ts";
import type { LearnedRates } from "./learned-rates.ts";

const HOUR = 3600;
const WEEK = 168 * HOUR;
/** A half-life that is long enough that the recent normal hardly moves. */
const BASELINE: BaselineConfig = {
  factor: 3,
  halfLifeSeconds: 604_800,
  warmupSeconds: 0,
  seasonal: true,
  floor: [1, 1, 1],
};

/** A host with traffic, second by second of a clock that the test controls. */
function harness(changes: Partial<BaselineConfig> = {}, options: Parameters<typeof openBaselines>[0] = {}) {
  const group = hostgroup({ pps: 1e6 }, { baseline: { ...BASELINE, ...changes } });
  const baselines = openBaselines({ capacity: 8, ...options });
  baselines.reconfigure([group]);
  let now = 100 * WEEK;
  const at = (target = "192.0.2.1") =>
    ({ keys: addressToBytes(address(target)), at: 0, group, direction: "incoming" }) as const;
  /** Rates of 5 s at a time, as after a pause of the learner. */
  const hear = (pps: number, seconds: number, target?: string) => {
    for (const end = now + seconds; now < end; ) {
      now += 5;
      baselines.beginPass(now);
      baselines.learn(at(target), thresholds({ pps }), 0, { nowSeconds: now, seconds: 5 });
    }
  };
  const pass = (seconds: number) => {
    now += seconds;
    baselines.beginPass(now);
  };
  /** Advances to the first second of an hour, counted from the start. */
  const goTo = (hour: number) => pass(100 * WEEK + hour * HOUR - now);
  const normal = (target?: string) => baselines.normal(at(target))?.[0] ?? Number.NaN;
  const limit = () => (baselines.limits(at()) ?? [])[0] ?? Number.NaN;
  const normalOf = () => baselines.origin(at(), 0).normalOf;
  return { baselines, group, at, hear, pass, goTo, normal, limit, normalOf };
}

/** Within the rounding error of a code. */
function expectAbout(rate: number, wanted: number) {
  expect(Math.abs(rate / wanted - 1)).toBeLessThan(0.052);
}

describe("the normal of an hour of the week", () => {
  test("is the recent one in the first week, and from the second week on that hour's own", () => {
    const { hear, goTo, pass, normal, limit, normalOf } = harness();
    hear(100, HOUR);
    hear(200, HOUR);
    expect(normalOf()).toBe("recent");
    goTo(168);
    pass(1800);
    expect(normalOf()).toBe("hour_of_week");
    expectAbout(normal(), 100);
    expectAbout(limit(), 300);
    goTo(169);
    pass(1800);
    expectAbout(normal(), 200);
    goTo(170);
    pass(1800);
    // No traffic in that hour.
    expect(normalOf()).toBe("recent");
    expect(normal()).toBeCloseTo(150, 0);
  });

  test("moves half the way to what comes, week by week", () => {
    const { hear, goTo, pass, normal } = harness();
    for (const [week, pps] of [100, 200, 200].entries()) {
      goTo(168 * week);
      hear(pps, HOUR);
      // The hour ends with the first traffic of the next one.
      hear(pps, 5);
    }
    goTo(168 * 3);
    pass(1800);
    expectAbout(normal(), 175);
  });

  test("does not change in an hour with hardly any traffic", () => {
    const { hear, goTo, pass, normal, normalOf } = harness();
    hear(100, 595);
    goTo(1);
    hear(100, 600);
    goTo(168);
    pass(1800);
    expect(normalOf()).toBe("recent");
    goTo(169);
    hear(900, 595);
    goTo(170);
    hear(100, 5);
    goTo(168 + 169);
    pass(1800);
    expectAbout(normal(), 100);
  });

  test("is not learned before the warm-up is over", () => {
    const { hear, goTo, pass, normalOf } = harness({ warmupSeconds: HOUR });
    hear(100, HOUR);
    hear(100, HOUR);
    goTo(168);
    pass(1800);
    expect(normalOf()).toBe("recent");
    goTo(169);
    pass(1800);
    expect(normalOf()).toBe("hour_of_week");
  });

  test("does not jump at the edge of an hour, with or without traffic, and has moved after ten minutes", () => {
    const { hear, goTo, pass, normal } = harness({ factor: 100 });
    hear(100, HOUR);
    hear(1000, HOUR);
    hear(10, HOUR);
    goTo(168);
    pass(HOUR - 5);
    const steps = [normal()];
    for (let i = 0; i < 240; i++) {
      // The limit as it is before the pass of this second learns, and after.
      pass(2.5);
      steps.push(normal());
      if (i % 2 === 1) hear(normal(), 5);
      else pass(5);
      steps.push(normal());
    }
    for (const [i, step] of steps.entries()) {
      if (i > 0) expect(Math.abs(step - (steps[i - 1] as number))).toBeLessThan(20);
    }
    expectAbout(steps[0] as number, 100);
    expectAbout(steps.at(-1) as number, 1000);
  });

  test("takes no more from what crawls up than its own limit", () => {
    const { hear, goTo, pass, normal } = harness();
    hear(100, HOUR);
    hear(100, 5);
    goTo(168);
    // A thousand times the rate, for the whole hour, below a threshold of a million.
    hear(100_000, HOUR);
    hear(100, 5);
    goTo(336);
    pass(1800);
    // Halfway to three times the rate, within one step of the code.
    expect(normal()).toBeLessThan(200 * 1.12);
  });

  test("is learned for what a hostgroup comes to, and for what a host sends, apart", () => {
    const baselines = openBaselines({ capacity: 8, directions: 2 });
    const group = hostgroup(
      { pps: 1e6 },
      { name: "web", calculation: "total", baseline: BASELINE, thresholdsOutgoing: thresholds({ pps: 1e6 }) },
    );
    baselines.reconfigure([group]);
    const [incoming, outgoing] = [baselines.ofGroup(group, "incoming"), baselines.ofGroup(group, "outgoing")];
    for (let now = 0; now <= HOUR; now += 5) {
      baselines.beginPass(now);
      baselines.learn(incoming, thresholds({ pps: 50 }), 0, { nowSeconds: now, seconds: 5 });
      baselines.learn(outgoing, thresholds({ pps: 7 }), 0, { nowSeconds: now, seconds: 5 });
    }
    baselines.beginPass(WEEK + 1800);
    for (const [learner, pps] of [
      [incoming, 50],
      [outgoing, 7],
    ] as const) {
      expect(baselines.origin(learner, 0).normalOf).toBe("hour_of_week");
      expectAbout(baselines.origin(learner, 0).baseline?.normal ?? 0, pps);
    }
  });
});

describe("the places of those that are learned by hour of the week", () => {
  test("are as many as the bound: beyond, the recent normal holds, and it is counted", () => {
    const { hear, goTo, pass, baselines, at, normal } = harness({}, { seasonalHosts: 2 });
    for (const host of [1, 2, 3]) hear(100 * host, 1200, `192.0.2.${host}`);
    goTo(1);
    for (const host of [1, 2, 3]) hear(100 * host, 5, `192.0.2.${host}`);
    const seasons = baselines.rates?.stats().seasons;
    expect(seasons?.count).toBe(2);
    // Each pass of the third hour except the first, in which the warm-up was not over.
    expect(seasons?.refused).toBe(1200 / 5);
    goTo(168);
    pass(1800);
    const kinds = [1, 2, 3].map((host) => baselines.origin(at(`192.0.2.${host}`), 0).normalOf);
    expect(kinds).toEqual(["hour_of_week", "hour_of_week", "recent"]);
    expect(normal("192.0.2.3")).toBeCloseTo(300, 0);
  });

  test("are freed by hosts that were silent for two weeks, and not a second before", () => {
    const { hear, pass, baselines } = harness({}, { seasonalHosts: 1 });
    hear(100, 10, "192.0.2.1");
    // Rows are numbered in the order in which hosts come.
    const rows = () => [...(baselines.rates?.seasonRows() ?? [])];
    pass(14 * 86_400 - 15);
    hear(100, 15, "192.0.2.2");
    expect(rows()).toEqual([0]);
    hear(100, 5, "192.0.2.2");
    expect(rows()).toEqual([1]);
    expect(baselines.rates?.stats().seasons?.count).toBe(1);
  });

  test("are freed when another host takes the row, and start from zero", () => {
    const { hear, goTo, pass, baselines, normalOf, at } = harness({}, { capacity: 1 });
    hear(100, 2 * HOUR, "192.0.2.9");
    goTo(3);
    hear(5, 10);
    expect(knownOf(baselines.rates as LearnedRates, at("192.0.2.9").keys)).toBeNull();
    goTo(168);
    pass(1800);
    expect(normalOf()).toBe("recent");
    expect(baselines.rates?.stats().seasons?.count).toBe(1);
  });
});
