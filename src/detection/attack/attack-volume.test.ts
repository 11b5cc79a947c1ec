import { describe, expect, test } from "bun:test";
import {
  type CountedSpan,
  DROP_CAUSES,
  type DroppedAmount,
  NO_DROPS,
  UNCOUNTED_MAX,
  VolumeMeter,
} from "./attack-volume.ts";

/** Ticks of 100 ms with these packets of 1000 bits; above 50 packets a tick is above the thresholds. */
function measured(packets: readonly number[], meter = new VolumeMeter(null)): VolumeMeter {
  const ticks: CountedSpan[] = packets.map((count, i) => ({
    packets: count,
    bits: 1000 * count,
    endMs: 10_000 + 100 * (i + 1),
    spanMs: 100,
  }));
  for (const tick of ticks) meter.add(tick, tick.packets > 50);
  return meter;
}

test("nothing is known before a tick was above the thresholds", () => {
  expect(measured([1, 2, 50]).volume).toBeNull();
});

test("a flood is counted with the ticks in which it began and ended, and without its users before and after", () => {
  expect(measured([3, 3, 40, 200, 160, 3, 3, 3]).volume).toEqual({
    beganAt: 10_200,
    durationMs: 100 * (0.2 + 1 + 0.8) + 1.5,
    packets: 403,
    bits: 403_000,
    peakPps: 2000,
    peakBps: 2e6,
    peakOverMs: 100,
    dropped: null,
    watchedUntil: 10_800,
  });
});

test("what comes between two floods of one attack belongs to it", () => {
  const volume = measured([0, 100, 100, 0, 1, 1, 100, 100, 0, 9, 9]).volume;
  expect(volume).toMatchObject({ packets: 402, durationMs: 700 });
});

test("what is dropped after a flood is no part of it, unless another flood of the attack follows", () => {
  const nothing = Object.fromEntries(DROP_CAUSES.map((cause) => [cause, { packets: 0, bits: 0 }]));
  const dropped = (packets: number) => {
    const amount = { packets, bits: 1000 * packets };
    return { ...amount, by: { ...nothing, rules: amount } } as DroppedAmount;
  };
  const meter = measured([0, 100, 100, 9]);
  meter.drop(dropped(150));
  const add = (packets: number, endMs: number) =>
    meter.add({ packets, bits: 1000 * packets, endMs, spanMs: 100 }, packets > 50);
  add(9, 10_500);
  meter.drop(dropped(9));
  expect(meter.volume).toMatchObject({ packets: 209, dropped: { packets: 150 } });
  add(100, 10_600);
  meter.drop(dropped(50));
  expect(meter.volume).toMatchObject({ packets: 318, dropped: { packets: 209, by: { rules: { packets: 209 } } } });
});

describe("where only the drops of a ban's rules are known", () => {
  const dropped = (packets: number) => ({ packets, bits: 1000 * packets });
  const calm = (meter: VolumeMeter, endMs: number, spanMs: number) =>
    meter.add({ packets: 9, bits: 9000, endMs, spanMs }, false);

  test("no more is dropped of a flood than it has", () => {
    const meter = measured([0, 100, 100, 9]);
    meter.drop(dropped(260));
    expect(meter.volume).toMatchObject({ packets: 209, bits: 209_000, dropped: { packets: 209, bits: 209_000 } });
  });

  test("what is dropped long after a flood is no part of it, unless another flood of the attack follows", () => {
    const meter = measured([0, 100, 100, 9]);
    meter.drop(dropped(100));
    calm(meter, 11_000, 600);
    meter.drop(dropped(50));
    expect(meter.volume).toMatchObject({ packets: 209, dropped: { packets: 150 } });
    calm(meter, 13_500, 2500);
    meter.drop(dropped(9));
    expect(meter.volume).toMatchObject({ packets: 209, dropped: { packets: 150 } });
    meter.add({ packets: 100, bits: 1e5, endMs: 13_600, spanMs: 100 }, true);
    expect(meter.volume).toMatchObject({ packets: 327, dropped: { packets: 159 } });
  });
});

test("no more is dropped by all causes than a flood has, and the causes add up", () => {
  const meter = measured([0, 100, 100, 9]);
  const by = Object.fromEntries(DROP_CAUSES.map((cause) => [cause, { packets: 60, bits: 60_000 }]));
  meter.drop({ packets: 360, bits: 360_000, by } as DroppedAmount);
  const known = meter.volume?.dropped;
  expect(known).toMatchObject({ packets: 209, bits: 209_000 });
  expect(DROP_CAUSES.map((cause) => known?.by?.[cause].packets)).toEqual([60, 60, 60, 29, 0, 0]);
});

test("the highest rates may be of different ticks", () => {
  const meter = measured([100, 200]);
  meter.add({ packets: 60, bits: 900_000, endMs: 10_400, spanMs: 200 }, true);
  expect(meter.volume).toMatchObject({ peakPps: 2000, peakBps: 4.5e6, peakOverMs: 100 });
});

describe("what an earlier process counted", () => {
  const earlier = {
    beganAt: 5000,
    durationMs: 1000,
    packets: 1000,
    bits: 2e6,
    peakPps: 3000,
    peakBps: 1e6,
    peakOverMs: 50,
    dropped: { packets: 10, bits: 20 },
  };

  test("stays while nothing is above the thresholds", () => {
    expect(measured([1, 1], new VolumeMeter(earlier)).volume).toEqual({ ...earlier, watchedUntil: 10_200 });
  });

  test("is added to", () => {
    const meter = measured([200, 200], new VolumeMeter(earlier));
    meter.drop({ packets: 1, bits: 2 });
    expect(meter.volume).toMatchObject({
      beganAt: 5000,
      durationMs: 1200,
      packets: 1400,
      bits: 2.4e6,
      peakPps: 3000,
      peakBps: 2e6,
      peakOverMs: 50,
      dropped: { packets: 11, bits: 22 },
    });
  });

  test("has a gap until now, also where nothing is above the thresholds since", () => {
    const stored = { ...earlier, watchedUntil: 6000 };
    const [busy, calm] = [
      [200, 200],
      [1, 1],
    ].map((packets) => measured(packets, new VolumeMeter(stored)).volume);
    const first = { fromMs: 6000, toMs: 10_000 };
    expect(busy).toMatchObject({ notCounted: [first], watchedUntil: 10_200, packets: 1400 });
    expect(calm).toMatchObject({ notCounted: [first], watchedUntil: 10_200, packets: 1000 });
  });

  /** The gaps once a process goes on with a tick from 10 s on. */
  const gapsAfter = (watchedUntil: number, gaps: readonly (readonly [number, number])[] = []) => {
    const notCounted = gaps.map(([fromMs, toMs]) => ({ fromMs, toMs }));
    const volume = measured([200], new VolumeMeter({ ...earlier, watchedUntil, notCounted })).volume;
    return volume?.notCounted?.map(({ fromMs, toMs }) => [fromMs, toMs]);
  };

  test("has its gaps in order and apart, also where the clock was set back", () => {
    expect(gapsAfter(12_000, [[6000, 7000]])).toEqual([
      [6000, 7000],
      [10_000, 12_000],
    ]);
    // The times of two gaps overlap, or one is before that of an earlier restart.
    expect(gapsAfter(12_000, [[9000, 11_000]])).toEqual([[9000, 12_000]]);
    expect(gapsAfter(10_900, [[15_000, 16_000]])).toEqual([
      [10_000, 10_900],
      [15_000, 16_000],
    ]);
  });

  test("has no gap of no length, and none where a clock set back a little hides it", () => {
    expect([gapsAfter(10_000), gapsAfter(10_050)]).toEqual([[], []]);
  });

  test("has the two oldest gaps as one beyond their number", () => {
    const gaps = Array.from({ length: UNCOUNTED_MAX }, (_, i) => [5000 - 100 * i, 5010 - 100 * i] as const);
    const oldest = 5000 - 100 * (UNCOUNTED_MAX - 1);
    const full = gapsAfter(6000, gaps);
    expect(full).toHaveLength(UNCOUNTED_MAX);
    expect([full?.[0], full?.at(-1)]).toEqual([
      [oldest, oldest + 110],
      [6000, 10_000],
    ]);
  });

  test("has its causes together with what is counted since, where both are known", () => {
    const byCause = (packets: number) => ({
      ...{ packets, bits: packets, by: { ...NO_DROPS, limits: { packets, bits: packets } } },
    });
    const droppedOf = (before: DroppedAmount | null, since: DroppedAmount | null) => {
      const meter = measured([200, 200], new VolumeMeter({ ...earlier, dropped: before }));
      if (since !== null) meter.drop(since);
      return meter.volume?.dropped;
    };
    expect(droppedOf(byCause(10), byCause(5))).toEqual(byCause(15));
    // Of the other time only a part is known, or nothing: the sum is a bound.
    expect(droppedOf(byCause(10), { packets: 5, bits: 5 })).toEqual({ packets: 15, bits: 15 });
    expect(droppedOf(byCause(10), null)).toEqual({ packets: 10, bits: 10 });
    expect(droppedOf(null, byCause(5))).toEqual({ packets: 5, bits: 5 });
  });
});
