import { describe, expect, test } from "bun:test";
import { type HostRowFields, hostRows } from "../../../test/fixtures/host-rows.ts";
import { hostgroup, policyFor } from "../../../test/fixtures/hostgroups.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { attack } from "../../../test/fixtures/views.ts";
import type { HostRows } from "../../traffic/host-rows.ts";
import { Baselines } from "../baseline/baselines.ts";
import { DetectionLoop, LOOK_EVERY_MS, type PacketCounter } from "./detection-loop.ts";
import { Detector } from "./detector.ts";
import { TickJudge } from "./tick-judge.ts";

/** A counter whose next ticks are scripted: rows, or an error. */
class ScriptedCounter implements PacketCounter {
  script: (readonly HostRowFields[] | Error)[] = [];
  ticks = 0;
  whileFolding: () => void = () => {};
  watched: number[] = [];
  /** What the next looks between ticks find; null: the last tick saw no rising host. */
  looks: (readonly HostRowFields[])[] | null = null;
  isFolding = false;
  #rows: readonly HostRowFields[] = [];

  measured = 0;

  async tick() {
    this.ticks++;
    this.isFolding = true;
    await Promise.resolve();
    this.isFolding = false;
    this.whileFolding();
    const next = this.script.shift() ?? [];
    if (next instanceof Error) throw next;
    this.#rows = next;
    return { trackedHosts: next.length, screened: next.length, foldMicros: 1, rising: this.looks === null ? 0 : 1 };
  }
  readScreened(out: HostRows) {
    write(this.#rows, out);
    return this.#rows.length;
  }
  readRising(out: HostRows) {
    if (this.isFolding || this.looks === null) throw new Error("not now");
    const rows = this.looks.shift() ?? [];
    write(rows, out);
    return rows.length;
  }
  readCounts() {
    this.measured++;
    return 0;
  }
  readGroups(): number {
    throw new Error("no group is judged as a whole");
  }
  setWatched(addresses: Uint8Array) {
    this.watched.push(addresses.length / 16);
  }
}

function write(fields: readonly HostRowFields[], out: HostRows) {
  const rows = hostRows(...fields.slice(0, out.capacity));
  out.addresses.set(rows.addresses);
  out.groups.set(rows.groups);
  out.incoming.set(rows.incoming);
}

const policyWith = (sustainMs: number) => policyFor([hostgroup({ pps: 10 })], { sustainMs });

function harness({ capacity = 8, sustainMs = 0 } = {}) {
  const clock = new ManualClock();
  const timers = new ManualTimers(clock);
  const counter = new ScriptedCounter();
  let ids = 0;
  const detector = new Detector(policyWith(sustainMs), () => `a${++ids}`);
  const judge = new TickJudge(counter, detector, capacity);
  const seen: string[] = [];
  const stale: boolean[] = [];
  const loop = new DetectionLoop({
    counter,
    judge,
    tickMs: 100,
    now: () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }),
    after: (ms, fn) => timers.after(ms, fn),
    onChanges: (changes) => seen.push(...changes.map(({ kind, attack }) => `${kind} ${attack.target}`)),
    onTick: ({ isStale }) => stale.push(isStale),
    onFault: (cause) => seen.push(String(cause)),
  });
  /** Lets the promises of a tick run, then advances time. */
  const advance = async (ms: number) => {
    clock.advance(ms);
    for (let i = 0; i < 10; i++) await Promise.resolve();
  };
  return { loop, counter, judge, seen, stale, advance };
}

const flood = (n: number): HostRowFields => ({ target: `192.0.2.${n}`, rates: { pps: 100 } });

describe("the detection loop", () => {
  test("judges each tick and watches hosts from the start of their attack to its end", async () => {
    const { loop, counter, seen, advance } = harness();
    counter.script = [[], [flood(1)], [flood(1), flood(2)], []];
    loop.start();
    for (let i = 0; i < 4; i++) await advance(100);
    expect(seen).toEqual([
      "started 192.0.2.1",
      "lasts 192.0.2.1",
      "started 192.0.2.2",
      "ended 192.0.2.1",
      "ended 192.0.2.2",
    ]);
    expect(counter.watched).toEqual([1, 2, 0]);
    await loop.stop();
  });

  test("judges hosts that rise between ticks, and changes nothing else then", async () => {
    const { loop, counter, seen, advance } = harness();
    counter.script = [[flood(1)], [flood(1), flood(2)]];
    counter.looks = [[], [flood(2)], [flood(2)]];
    loop.start();
    await advance(100);
    expect(seen).toEqual(["started 192.0.2.1"]);
    await advance(LOOK_EVERY_MS);
    expect(seen).toEqual(["started 192.0.2.1"]);
    // The flood of ten times the threshold is judged with the next look, and not with the next tick.
    await advance(LOOK_EVERY_MS);
    expect(seen).toEqual(["started 192.0.2.1", "started 192.0.2.2"]);
    expect(counter.watched).toEqual([1, 2]);
    await advance(LOOK_EVERY_MS);
    expect([counter.ticks, seen.length]).toEqual([1, 2]);
    await advance(100 - 3 * LOOK_EVERY_MS);
    expect(seen.slice(2)).toEqual(["lasts 192.0.2.1", "lasts 192.0.2.2"]);
    await loop.stop();
  });

  test("does not look between ticks without a rising host, after a change of hostgroups, or once stopped", async () => {
    const { loop, counter, seen, advance } = harness();
    loop.start();
    await advance(100);
    await advance(50);
    counter.looks = [[flood(1)]];
    await advance(50);
    loop.reconfigured();
    await advance(50);
    await advance(50);
    const stopped = loop.stop();
    await advance(100);
    await stopped;
    expect([counter.ticks, seen]).toEqual([3, []]);
  });

  test("leaves an attack that must be sustained to the ticks", async () => {
    const { loop, counter, seen, advance } = harness({ sustainMs: 100 });
    counter.script = [[], [flood(1)], [flood(1)]];
    counter.looks = [[flood(1)]];
    loop.start();
    for (const ms of [100, 50, 50]) await advance(ms);
    expect(seen).toEqual([]);
    await advance(100);
    expect(seen).toEqual(["started 192.0.2.1"]);
    await loop.stop();
  });

  test("goes on after a tick that failed", async () => {
    const { loop, counter, seen, advance } = harness();
    counter.script = [new Error("ring broke"), [flood(1)]];
    loop.start();
    await advance(100);
    await advance(100);
    expect(seen).toEqual(["Error: ring broke", "started 192.0.2.1"]);
    await loop.stop();
  });

  test("leaves out what was folded while the hostgroups became others", async () => {
    const { loop, counter, stale, seen, advance } = harness();
    counter.script = [[flood(1)], [flood(2)], [flood(3)]];
    counter.whileFolding = () => {
      if (counter.ticks === 1) loop.reconfigured();
    };
    loop.start();
    await advance(100);
    expect([counter.ticks, seen]).toEqual([1, []]);
    // Between two folds nothing is lost: the next one uses the new hostgroups.
    loop.reconfigured();
    await advance(100);
    expect(seen).toEqual(["started 192.0.2.2"]);
    expect([stale, counter.measured]).toEqual([[true, false], 2]);
    await loop.stop();
  });

  test("skips missed ticks instead of queueing them", async () => {
    const { loop, counter, advance } = harness();
    loop.start();
    await advance(100);
    await advance(1050);
    await advance(50);
    expect(counter.ticks).toBeLessThanOrEqual(3);
    await loop.stop();
  });

  test("stands still once stopped", async () => {
    const { loop, counter, advance } = harness();
    loop.start();
    await advance(100);
    await loop.stop();
    await advance(1000);
    expect(counter.ticks).toBe(1);
  });

  test("counts the rows for which it had no room", async () => {
    const { loop, counter, judge, advance } = harness({ capacity: 2 });
    counter.script = [[flood(1), flood(2), flood(3)]];
    loop.start();
    await advance(100);
    expect(judge.overflow).toBe(1);
    await loop.stop();
  });
});

test("what was kept from the target of a restored attack is read before anything of it is counted", () => {
  const calls: string[] = [];
  const droppedOf = () => {
    calls.push("drops so far");
    return null;
  };
  const detector = new Detector(policyWith(0), () => "a1", new Baselines(null), droppedOf);
  detector.restore([attack()]);
  const outcomes = { watch: () => void calls.push("watch"), read: () => void calls.push("read") };
  new TickJudge(new ScriptedCounter(), detector, 8, outcomes).watchRestored();
  expect(calls).toEqual(["watch", "read", "drops so far"]);
});
