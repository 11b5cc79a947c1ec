/** Detection on rates that are estimated from samples; a short form of test/sampling.ts is at the end. */
import { describe, expect, test } from "bun:test";
import { openBaselines } from "../../../test/fixtures/baselines.ts";
import { type HostRowFields, hostRows, thresholds } from "../../../test/fixtures/host-rows.ts";
import { hostgroup, policyFor } from "../../../test/fixtures/hostgroups.ts";
import {
  alarmsPerYear,
  detectionTimes,
  endTimes,
  expectedAlarmsPerYear,
} from "../../../test/fixtures/sampling-runs.ts";
import { type DetectionPolicy, Detector } from "./detector.ts";

const GLOBAL = hostgroup({ pps: 1000, mbps: 100, flows_per_sec: 500 });

function detector(overrides: Partial<DetectionPolicy> = {}, baselines?: ReturnType<typeof openBaselines>) {
  const policy = policyFor([GLOBAL], { hysteresisMs: () => 300, maxActive: 3, ...overrides });
  const made = new Detector(policy, () => "a1", baselines);
  const tick = (monotonicMs: number, ...hosts: HostRowFields[]) =>
    made
      .judge(hostRows(...hosts), hosts.length, { wallMs: 1_000_000 + monotonicMs, monotonicMs })
      .map(({ kind, attack }) => `${kind} ${attack.target} ${attack.metric}`);
  return { made, tick };
}

describe("detection on sampled traffic", () => {
  const sampled = (pps: number, weight = 100): HostRowFields => ({
    target: "192.0.2.1",
    rates: { pps, mbps: 1 },
    weights: [weight, 1e5, 0, 0],
  });

  test("starts no attack on a few samples above the threshold, and one on enough samples to be certain", () => {
    const { made, tick } = detector();
    expect(tick(0, sampled(2000))).toEqual([]);
    expect(tick(100, sampled(3400))).toEqual(["started 192.0.2.1 pps"]);
    const [attack] = made.active.values();
    expect(attack?.samplingError?.pps).toBeCloseTo(1.96 / Math.sqrt(34), 6);
  });

  test("watches a doubtful host, and starts an attack when its samples of several windows are certain", () => {
    const { made, tick } = detector();
    tick(0, sampled(2000));
    // A watched host is not judged between ticks, and a large flood must be.
    expect(made.suspectedHosts()).toEqual([]);
    for (let ms = 100; ms <= 700; ms += 100) tick(ms, sampled(2000));
    expect(made.suspectedHosts().map(String)).toEqual(["192.0.2.1"]);
    const started: number[] = [];
    for (let ms = 800; ms <= 10_000 && started.length === 0; ms += 100) {
      if (tick(ms, sampled(2000)).length > 0) started.push(ms);
    }
    // 20 samples a second where 10 are expected.
    expect(started).toEqual([4000]);
    expect(made.suspectedHosts()).toEqual([]);
  });

  test("forgets a doubtful host that is below the threshold in the mean, or silent", () => {
    for (const after of [[sampled(100)], []]) {
      const { made, tick } = detector();
      tick(0, sampled(2000));
      for (let ms = 100; ms <= 3000; ms += 100) expect(tick(ms, ...after)).toEqual([]);
      expect(made.suspectedHosts()).toEqual([]);
    }
  });

  test("ends an attack whose estimate is above the threshold now and then", () => {
    const { tick } = detector();
    tick(0, sampled(5000));
    expect(tick(100, sampled(1500))).toEqual(["lasts 192.0.2.1 pps"]);
    expect(tick(400, sampled(1100))).toEqual(["ended 192.0.2.1 pps"]);
  });

  test("sustains a rate that was certain once while its estimate stays above the threshold", () => {
    const { tick } = detector({ sustainMs: 300 });
    expect(tick(0, sampled(5000))).toEqual([]);
    expect(tick(200, sampled(1500))).toEqual([]);
    expect(tick(300, sampled(1500))).toEqual(["started 192.0.2.1 pps"]);
  });

  test("sustains a rate whose estimates are below the threshold now and then, once their sum is certain", () => {
    const { tick } = detector({ sustainMs: 3000 });
    const started: number[] = [];
    for (let second = 0; second < 30 && started.length === 0; second++) {
      // 1.75 times the threshold.
      const pps = second % 2 === 0 ? 2600 : 900;
      for (let ms = 0; ms < 1000; ms += 100) {
        const [change] = tick(second * 1000 + ms, sampled(pps));
        if (change?.startsWith("started") === true) started.push(second);
      }
    }
    expect(started).toHaveLength(1);
    expect(started[0]).toBeGreaterThanOrEqual(3);
    expect(started[0]).toBeLessThan(15);
  });

  test("judges a learned limit by its samples too", () => {
    const baseline = { factor: 2, halfLifeSeconds: 60, warmupSeconds: 10, seasonal: false, floor: [100, 100, 100] };
    const group = { ...GLOBAL, thresholds: thresholds({ pps: 1e6 }), baseline };
    const baselines = openBaselines();
    const { tick } = detector({ hostgroups: [group] }, baselines);
    const keys = hostRows(sampled(1)).addresses;
    for (let nowSeconds = 1; nowSeconds <= 20; nowSeconds++) {
      const learner = { keys, at: 0, group, direction: "incoming" } as const;
      baselines.learn(learner, thresholds({ pps: 500 }), 0, { nowSeconds, seconds: 1 });
    }
    expect(tick(0, sampled(2000))).toEqual([]);
    expect(tick(100, sampled(3400))).toEqual(["started 192.0.2.1 pps"]);
  });

  test("judges between ticks by the samples too", () => {
    const { made } = detector();
    const rising = (pps: number) => made.judgeRising(hostRows(sampled(pps)), 1, { wallMs: 0, monotonicMs: 10 });
    expect(rising(2000)).toEqual([]);
    expect(rising(3400).map(({ kind }) => kind)).toEqual(["started"]);
  });

  test("judges the sums of a group by their samples too", () => {
    const total = { ...GLOBAL, calculation: "total" } as const;
    const { made } = detector({ hostgroups: [total] });
    const at = (monotonicMs: number, pps: number) =>
      made.judge(hostRows(), 0, { wallMs: 0, monotonicMs }, hostRows(sampled(pps))).map(({ kind }) => kind);
    expect(at(0, 2000)).toEqual([]);
    expect(at(100, 3400)).toEqual(["started"]);
  });
});

describe("a simulated host", () => {
  const seed = 20_261_126;

  test("trips as often as a sliding window of Poisson samples does, and no more often by its sums", () => {
    // Few of the false alarms of a confidence that low come from the sums.
    const run = { expected: 10, load: 0.8, confidence: 0.999, seed };
    const computed = expectedAlarmsPerYear(run);
    const alarms = alarmsPerYear({ ...run, years: 0.004 });
    expect(alarms / computed, `${alarms} of ${computed} a year, seed ${seed}`).toBeGreaterThan(0.1);
    expect(alarms / computed, `${alarms} of ${computed} a year, seed ${seed}`).toBeLessThan(2);
  });

  test("is detected within the first second at ten times the threshold, and surely at a fifth above it", () => {
    const worst = (factor: number) =>
      Math.max(
        ...detectionTimes({ expected: 100, factor, confidence: 0.99999999, runs: 20, seed }).map((ms) => ms ?? 1e9),
      );
    expect(worst(10), `seed ${seed}`).toBeLessThanOrEqual(300);
    expect(worst(1.2), `seed ${seed}`).toBeLessThan(60_000);
  });

  test("is over soon after the attack, although its estimate is above the threshold every few seconds", () => {
    const { times } = endTimes({ expected: 1, load: 0.5, confidence: 0.99999999, runs: 10, seed });
    for (const ms of times) expect(ms ?? 1e9, `seed ${seed}`).toBeLessThan(600_000);
  });
});
