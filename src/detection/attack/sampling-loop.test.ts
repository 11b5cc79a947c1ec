import { describe, expect, test } from "bun:test";
import { address, hostRows } from "../../../test/fixtures/host-rows.ts";
import { hostgroup, policyFor } from "../../../test/fixtures/hostgroups.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples, SAMPLER_OPTIONS } from "../../../test/fixtures/packets/header-samples.ts";
import { Detector } from "../judge/detector.ts";
import { AttackSampler } from "./attack-sampler.ts";
import { sampleOf } from "./sample.ts";
import { READ_AFTER_MS, READING_SLICE_MS, SamplingLoop } from "./sampling-loop.ts";

const VICTIM = "203.0.113.7";
const OTHER = "203.0.113.8";
const TICK_MS = 100;

function harness() {
  const clock = new ManualClock();
  const timers = new ManualTimers(clock);
  const headers = new FakeHeaderSamples();
  headers.frames = [{ frame: ethernet(ip({ src: "198.51.100.1", dst: VICTIM }, udp())) }];
  let ids = 0;
  const detector = new Detector(policyFor([hostgroup({ pps: 10 })]), () => `a${++ids}`);
  const now = () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() });
  const seen: string[] = [];
  /** How much was seen when other work had its turn. */
  const turns: number[] = [];
  const again: string[] = [];
  const load = { isBehind: false };
  const loop = new SamplingLoop({
    sampler: new AttackSampler(headers, SAMPLER_OPTIONS),
    detector,
    after: (ms, fn) => timers.after(ms, fn),
    nextTurn: async () => {
      turns.push(seen.length);
    },
    now,
    isBehind: () => load.isBehind,
    onSampled: ({ target, sample }) => seen.push(`${target} ${sample?.totalPackets}`),
    onClassified: ({ attack: { target, classification }, isNewKind }) =>
      seen.push(`${target} ${isNewKind ? "" : "still "}${classification?.type}`),
    onSeen: ({ id }) => again.push(id),
    onFault: (cause) => seen.push(String(cause)),
  });
  const tick = (...flooded: string[]) => {
    const rows = hostRows(...flooded.map((target) => ({ target, rates: { pps: 20 } })));
    loop.attacksChanged(detector.judge(rows, flooded.length, now()), now());
  };
  /** What is read is there. */
  const advance = async (ms: number) => {
    clock.advance(ms);
    await settled();
  };
  return { clock, advance, headers, detector, seen, turns, again, load, loop, tick };
}

/** More turns of promises than a reading takes. */
async function settled(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

describe("samples", () => {
  test("are taken after the tick that found the attack, and attached to it", async () => {
    const { advance, headers, detector, seen, tick } = harness();
    tick(VICTIM);
    await advance(READ_AFTER_MS - 1);
    expect(headers.asked).toEqual([]);
    await advance(1);
    expect(seen).toEqual([`${VICTIM} 1`]);
    expect([...detector.active.values()][0]?.sample).toMatchObject({ topSources: [{ key: "198.51.100.1" }] });
  });

  test("stay with the attack as it goes on and when it ends", async () => {
    const { clock, advance, detector, tick } = harness();
    tick(VICTIM);
    await advance(TICK_MS);
    tick(VICTIM);
    expect([...detector.active.values()][0]?.sample?.totalPackets).toBe(1);
    const [change] = detector.judge(hostRows(), 0, { wallMs: 0, monotonicMs: clock.monotonicMs() });
    expect(change).toMatchObject({ kind: "ended", attack: { sample: { totalPackets: 1 } } });
  });

  test("are read once a tick while they are incomplete, and then for judgement once a second", async () => {
    const { clock, advance, headers, seen, tick } = harness();
    for (let ticks = 0; ticks < 30; ticks++) {
      tick(VICTIM);
      await advance(TICK_MS);
    }
    expect(headers.asked).toHaveLength(12);
    expect(seen.filter((line) => line === `${VICTIM} 1`)).toHaveLength(11);
    expect(clock.pending).toBe(0);
  });

  test("report the kind of the attack once, and it stays with the attack", async () => {
    const { advance, headers, detector, seen, again, tick } = harness();
    headers.frames = new Array(100).fill(headers.frames[0]);
    for (let ticks = 0; ticks < 30; ticks++) {
      tick(VICTIM);
      await advance(TICK_MS);
    }
    expect(seen).toEqual([`${VICTIM} 100`, `${VICTIM} udp_flood`]);
    // About once a second.
    expect(again).toEqual(["a1", "a1"]);
    expect(detector.active.on(address(VICTIM))?.classification).toMatchObject({ type: "udp_flood", confidence: 1 });
  });

  test("are read later for judgement while the search for rules is behind, and first ones at once", async () => {
    const { advance, headers, seen, again, load, tick } = harness();
    const to = (dst: string) => ({ frame: ethernet(ip({ src: "198.51.100.1", dst }, udp())) });
    headers.frames = [VICTIM, OTHER].flatMap((target) => new Array(100).fill(to(target)));
    load.isBehind = true;
    for (let ticks = 0; ticks < 30; ticks++) {
      tick(...(ticks < 15 ? [VICTIM] : [VICTIM, OTHER]));
      await advance(TICK_MS);
    }
    expect(seen).toContain(`${OTHER} udp_flood`);
    expect(again).toEqual([]);
    for (let ticks = 0; ticks < 10; ticks++) {
      tick(VICTIM, OTHER);
      await advance(TICK_MS);
    }
    expect(again).toEqual(["a1"]);
  });

  test("report the kind again when it is confirmed by many more packets", async () => {
    const { advance, headers, seen, tick } = harness();
    for (const count of [16, 63, 64, 256, 256]) {
      headers.frames = new Array(count).fill(headers.frames[0]);
      tick(VICTIM);
      await advance(TICK_MS);
    }
    const kinds = seen.filter((line) => line.includes("flood"));
    expect(kinds).toEqual([`${VICTIM} udp_flood`, `${VICTIM} still udp_flood`]);
  });

  test("are taken of attacks that an earlier process left without one", async () => {
    const { advance, detector, seen, loop, tick } = harness();
    detector.judge(hostRows(...[VICTIM, OTHER].map((target) => ({ target, rates: { pps: 20 } }))), 2, {
      wallMs: 0,
      monotonicMs: 0,
    });
    const sample = sampleOf([], { top: 1, flows: 0 });
    detector.attach("a2", { sample });
    loop.start();
    tick(VICTIM, OTHER);
    await advance(READ_AFTER_MS);
    expect(seen).toEqual([`${VICTIM} 1`]);
    expect(detector.active.on(address(OTHER))?.sample).toBe(sample);
  });

  test("let other work run after each slice, and are all made in one reading", async () => {
    const { clock, advance, headers, seen, turns, tick } = harness();
    headers.frames = [VICTIM, OTHER].map((dst) => ({ frame: ethernet(ip({ src: "198.51.100.1", dst }, udp())) }));
    const judged = seen.push.bind(seen);
    seen.push = (...lines) => {
      clock.advance(READING_SLICE_MS);
      return judged(...lines);
    };
    tick(VICTIM, OTHER);
    await advance(TICK_MS);
    expect(headers.asked).toEqual([VICTIM, OTHER]);
    expect(seen).toEqual([`${VICTIM} 1`, `${OTHER} 1`]);
    expect(turns).toEqual([1, 2]);
  });

  test("are not taken while those before are read", async () => {
    const { clock, advance, headers, seen, tick } = harness();
    const wait = Promise.withResolvers<void>();
    const read = headers.readSamplesOfAsync.bind(headers);
    headers.readSamplesOfAsync = async (...call) => {
      await wait.promise;
      return read(...call);
    };
    for (let ticks = 0; ticks < 3; ticks++) {
      tick(VICTIM);
      await advance(TICK_MS);
    }
    expect(clock.pending).toBe(0);
    wait.resolve();
    await settled();
    expect(headers.asked).toEqual([VICTIM]);
    expect(seen).toEqual([`${VICTIM} 1`]);
  });

  test("that cannot be read are reported and retried", async () => {
    const { advance, headers, seen, tick } = harness();
    headers.fault = new Error("closed");
    tick(VICTIM);
    await advance(TICK_MS);
    headers.fault = null;
    tick(VICTIM);
    await advance(TICK_MS);
    expect(seen).toEqual(["Error: closed", `${VICTIM} 1`]);
  });

  test("are not read after a stop", async () => {
    const { clock, advance, headers, loop, tick } = harness();
    tick(VICTIM);
    await loop.stop();
    await advance(TICK_MS);
    expect(headers.asked).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
