import { describe, expect, test } from "bun:test";
import { address, hostRows } from "../../../test/fixtures/host-rows.ts";
import { hostgroup } from "../../../test/fixtures/hostgroups.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples } from "../../../test/fixtures/packets/header-samples.ts";
import { numberedIngress } from "../../traffic/ingress.ts";
import { Detector } from "../judge/detector.ts";
import { AttackSampler } from "./attack-sampler.ts";
import { sampleOf } from "./sample.ts";
import { READ_AFTER_MS, READING_BUDGET_MS, SamplingLoop } from "./sampling-loop.ts";

const VICTIM = "203.0.113.7";
const OTHER = "203.0.113.8";
const TICK_MS = 100;

function harness() {
  const clock = new ManualClock();
  const timers = new ManualTimers(clock);
  const headers = new FakeHeaderSamples();
  headers.frames = [{ frame: ethernet(ip({ src: "198.51.100.1", dst: VICTIM }, udp())) }];
  let ids = 0;
  const policy = {
    hostgroups: [hostgroup({ pps: 10 })],
    windowMs: 1000,
    tickMs: 100,
    sustainMs: 0,
    confidence: 0.99999999,
    hysteresisMs: () => 0,
    maxActive: 10,
  };
  const detector = new Detector(policy, () => `a${++ids}`);
  const now = () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() });
  const seen: string[] = [];
  const again: string[] = [];
  const loop = new SamplingLoop({
    sampler: new AttackSampler(headers, {
      windowMs: 1000,
      top: 10,
      flows: 20,
      originOf: null,
      ingressOf: numberedIngress,
      groupOf: () => null,
      networksOf: () => [],
    }),
    detector,
    after: (ms, fn) => timers.after(ms, fn),
    now,
    onSampled: ({ target, sample }) => seen.push(`${target} ${sample?.totalPackets}`),
    onClassified: ({ attack: { target, classification }, isNewKind, packets }) =>
      seen.push(`${target} ${isNewKind ? "" : "still "}${classification?.type} by ${packets.length}`),
    onSeen: ({ id }) => again.push(id),
    onFault: (cause) => seen.push(String(cause)),
  });
  const tick = (...flooded: string[]) => {
    const rows = hostRows(...flooded.map((target) => ({ target, rates: { pps: 20 } })));
    loop.attacksChanged(detector.judge(rows, flooded.length, now()), now());
  };
  return { clock, headers, detector, seen, again, loop, tick };
}

describe("samples", () => {
  test("are taken after the tick that found the attack, and attached to it", () => {
    const { clock, headers, detector, seen, tick } = harness();
    tick(VICTIM);
    clock.advance(READ_AFTER_MS - 1);
    expect(headers.asked).toEqual([]);
    clock.advance(1);
    expect(seen).toEqual([`${VICTIM} 1`]);
    expect([...detector.active.values()][0]?.sample).toMatchObject({ topSources: [{ key: "198.51.100.1" }] });
  });

  test("stay with the attack as it goes on and when it ends", () => {
    const { clock, detector, tick } = harness();
    tick(VICTIM);
    clock.advance(TICK_MS);
    tick(VICTIM);
    expect([...detector.active.values()][0]?.sample?.totalPackets).toBe(1);
    const [change] = detector.judge(hostRows(), 0, { wallMs: 0, monotonicMs: clock.monotonicMs() });
    expect(change).toMatchObject({ kind: "ended", attack: { sample: { totalPackets: 1 } } });
  });

  test("are read once a tick while they are incomplete, and then for judgement once a second", () => {
    const { clock, headers, seen, tick } = harness();
    for (let ticks = 0; ticks < 30; ticks++) {
      tick(VICTIM);
      clock.advance(TICK_MS);
    }
    expect(headers.asked).toHaveLength(12);
    expect(seen.filter((line) => line === `${VICTIM} 1`)).toHaveLength(11);
    expect(clock.pending).toBe(0);
  });

  test("report the kind of the attack once, and it stays with the attack", () => {
    const { clock, headers, detector, seen, again, tick } = harness();
    headers.frames = new Array(100).fill(headers.frames[0]);
    for (let ticks = 0; ticks < 30; ticks++) {
      tick(VICTIM);
      clock.advance(TICK_MS);
    }
    expect(seen).toEqual([`${VICTIM} 100`, `${VICTIM} udp_flood by 100`]);
    // About once a second.
    expect(again).toEqual(["a1", "a1"]);
    expect(detector.active.on(address(VICTIM))?.classification).toMatchObject({ type: "udp_flood", confidence: 1 });
  });

  test("report the kind again when it is confirmed by many more packets", () => {
    const { clock, headers, seen, tick } = harness();
    for (const count of [16, 63, 64, 256, 256]) {
      headers.frames = new Array(count).fill(headers.frames[0]);
      tick(VICTIM);
      clock.advance(TICK_MS);
    }
    const kinds = seen.filter((line) => line.includes("flood"));
    expect(kinds).toEqual([`${VICTIM} udp_flood by 16`, `${VICTIM} still udp_flood by 64`]);
  });

  test("are taken of attacks that an earlier process left without one", () => {
    const { clock, detector, seen, loop, tick } = harness();
    detector.judge(hostRows(...[VICTIM, OTHER].map((target) => ({ target, rates: { pps: 20 } }))), 2, {
      wallMs: 0,
      monotonicMs: 0,
    });
    const sample = sampleOf([], { top: 1, flows: 0 });
    detector.attach("a2", { sample });
    loop.start();
    tick(VICTIM, OTHER);
    clock.advance(READ_AFTER_MS);
    expect(seen).toEqual([`${VICTIM} 1`]);
    expect(detector.active.on(address(OTHER))?.sample).toBe(sample);
  });

  test("keep the event loop no longer than their budget", () => {
    const { clock, headers, tick } = harness();
    const read = headers.readSamples.bind(headers);
    headers.readSamples = (...call) => {
      clock.advance(READING_BUDGET_MS);
      return read(...call);
    };
    tick(VICTIM, OTHER);
    clock.advance(TICK_MS);
    expect(headers.asked).toEqual([VICTIM]);
    tick(VICTIM, OTHER);
    clock.advance(TICK_MS);
    expect(headers.asked).toEqual([VICTIM, OTHER]);
  });

  test("that cannot be read are reported and retried", () => {
    const { clock, headers, seen, tick } = harness();
    headers.fault = new Error("closed");
    tick(VICTIM);
    clock.advance(TICK_MS);
    headers.fault = null;
    tick(VICTIM);
    clock.advance(TICK_MS);
    expect(seen).toEqual(["Error: closed", `${VICTIM} 1`]);
  });

  test("are not read after a stop", () => {
    const { clock, headers, loop, tick } = harness();
    tick(VICTIM);
    loop.stop();
    clock.advance(TICK_MS);
    expect(headers.asked).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
