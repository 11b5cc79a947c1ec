import { describe, expect, test } from "bun:test";
import { openBaselines } from "../../../test/fixtures/baselines.ts";
import { hostRows } from "../../../test/fixtures/host-rows.ts";
import { hostgroup } from "../../../test/fixtures/hostgroups.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { ActiveAttacks } from "../attack/active-attacks.ts";
import { BaselineLearner } from "./baseline-learner.ts";
import type { LearnedRates } from "./learned-rates.ts";
import { LearningLoop } from "./learning-loop.ts";

const BASELINE = { factor: 3, halfLifeSeconds: 60, warmupSeconds: 0, seasonal: false, floor: [1, 1, 1] };

function harness({ isOn = true } = {}) {
  const clock = new ManualClock();
  const timers = new ManualTimers(clock);
  const baselines = openBaselines({ capacity: 4 });
  const hostgroups = [hostgroup({ pps: 1000 }, { baseline: isOn ? BASELINE : null })];
  baselines.reconfigure(hostgroups);
  const seen: string[] = [];
  const broken = new Set<string>();
  /** Resolved when the disk takes what is saved; null: it does so at once. */
  const disk: { hangs: Promise<void> | null } = { hangs: null };
  const note = (name: string) => {
    seen.push(name);
    if (broken.has(name)) throw new Error("disk");
  };
  const source = {
    learnHosts: () => {
      throw new Error("not of a service");
    },
    learnHostsAsync: async (rates: LearnedRates) => {
      rates.learnRows(hostRows({ target: "192.0.2.1", rates: { pps: 10 } }), 1, null);
      note("read");
      return -1;
    },
    readGroups: () => 1,
  };
  const options = {
    source,
    baselines,
    active: new ActiveAttacks(),
    carpets: null,
    windowMs: 1000,
    hostgroups: () => hostgroups,
  };
  const loop = new LearningLoop({
    learner: new BaselineLearner(options),
    baselines,
    keeper: {
      load: async () => {
        note("load");
        return 3;
      },
      save: async () => {
        note("save");
        await disk.hangs;
      },
    },
    nowSeconds: () => clock.monotonicMs() / 1000,
    every: (ms, fn) => timers.every(ms, fn),
    nextTurn: () => Promise.resolve(),
    onPassed: () => [],
    onLoaded: (rows) => seen.push(`loaded ${rows}`),
    onFault: (operation) => seen.push(`${operation} failed`),
  });
  const seconds = async (count: number) => {
    for (let i = 0; i < count; i++) {
      clock.advance(1000);
      // Lets the promises of a tick run.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    }
  };
  const count = (name: string) => seen.filter((line) => line === name).length;
  const switchOn = () => {
    hostgroups[0] = hostgroup({ pps: 1000 }, { baseline: BASELINE });
    baselines.reconfigure(hostgroups);
  };
  return { loop, seen, broken, disk, switchOn, seconds, count, clock };
}

describe("the learning loop", () => {
  test("restores the baselines before it learns, learns each second, saves every five minutes and at the end", async () => {
    const { loop, seen, seconds, count, clock } = harness();
    loop.start();
    await seconds(2);
    expect(seen.slice(0, 3)).toEqual(["load", "loaded 3", "read"]);
    await seconds(299);
    expect([count("load"), count("read"), count("save")]).toEqual([1, 300, 1]);
    await loop.stop();
    await loop.save();
    expect(count("save")).toBe(2);
    expect(clock.pending).toBe(0);
  });

  test("does nothing while no hostgroup has a baseline", async () => {
    const { loop, seen, seconds } = harness({ isOn: false });
    loop.start();
    await seconds(400);
    await loop.stop();
    expect(seen).toEqual([]);
  });

  test("begins when a reload switches it on", async () => {
    const { loop, seen, switchOn, seconds } = harness({ isOn: false });
    loop.start();
    await seconds(1);
    switchOn();
    await seconds(1);
    expect(seen).toEqual(["load", "loaded 3"]);
    await loop.stop();
  });

  test("reports failures and continues", async () => {
    const { loop, seen, broken, seconds, count } = harness();
    for (const name of ["load", "save", "read"]) broken.add(name);
    loop.start();
    await seconds(301);
    expect([count("load failed"), count("save failed")]).toEqual([1, 1]);
    expect(count("learn failed")).toBe(300);
    broken.clear();
    await loop.stop();
    await loop.save();
    expect(seen.at(-1)).toBe("save");
  });

  test("learns on and stops while the disk hangs, and then saves once", async () => {
    const { loop, disk, seconds, count } = harness();
    const { promise, resolve } = Promise.withResolvers<void>();
    disk.hangs = promise;
    loop.start();
    await seconds(700);
    expect([count("read"), count("save")]).toEqual([699, 1]);
    await loop.stop();
    const saved = loop.save();
    expect(count("save")).toBe(1);
    resolve();
    await saved;
    expect(count("save")).toBe(2);
  });
});
