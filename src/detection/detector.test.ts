import { describe, expect, test } from "bun:test";
import { address, type HostRowFields, hostRows, thresholds } from "../../test/fixtures/host-rows.ts";
import { AttackLog } from "./attack-log.ts";
import { type DetectionPolicy, Detector } from "./detector.ts";
import { screensFor } from "./screens.ts";

const GLOBAL = {
  name: "global",
  tenant: null,
  networks: [],
  thresholds: thresholds({ pps: 1000, mbps: 100, flows_per_sec: 500 }),
};
const SHOP = {
  name: "shop",
  tenant: null,
  networks: [],
  thresholds: thresholds({ pps: 50, mbps: 100, flows_per_sec: 500 }),
};

function detector(overrides: Partial<DetectionPolicy> = {}) {
  let ids = 0;
  const policy = { hostgroups: [GLOBAL, SHOP], sustainMs: 0, hysteresisMs: 300, maxActive: 3, ...overrides };
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
    expect([...made.active.keys()]).toEqual([address("192.0.2.1")]);
    expect(made.refused).toBe(1);
  });

  test("goes on with an attack that an earlier process saw start", () => {
    const before = detector();
    before.tick(0, flood());
    const after = detector();
    after.made.restore([...before.made.active.values()]);
    expect(after.tick(50_000)).toEqual(["lasts 192.0.2.1 pps"]);
    expect(after.tick(50_300)).toEqual(["ended 192.0.2.1 pps"]);
  });

  test("skips a row whose group a reload has just removed", () => {
    expect(detector().tick(0, { ...flood(), group: 7 })).toEqual([]);
  });
});

test("screens hand over what a threshold judges and nothing else", () => {
  const screens = screensFor([GLOBAL, SHOP]);
  expect([...screens.slice(0, 4)]).toEqual([1000, 100, 500, Number.POSITIVE_INFINITY]);
  expect(screens[26]).toBe(50);
  expect(screens[13]).toBe(Number.POSITIVE_INFINITY);
});

test("the log keeps the newest ended attacks up to its bound", () => {
  const { made } = detector({ hysteresisMs: 0 });
  const log = new AttackLog(2);
  for (let i = 1; i <= 3; i++) {
    const now = { wallMs: i, monotonicMs: i };
    made.judge(hostRows(flood(`192.0.2.${i}`)), 1, now);
    for (const { kind, attack } of made.judge(hostRows(), 0, now)) if (kind === "ended") log.add(attack);
  }
  expect(log.ended.map(({ target }) => target)).toEqual([address("192.0.2.3"), address("192.0.2.2")]);
});
