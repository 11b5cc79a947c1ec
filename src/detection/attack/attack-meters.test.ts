import { describe, expect, test } from "bun:test";
import { thresholds } from "../../../test/fixtures/host-rows.ts";
import { attack } from "../../../test/fixtures/views.ts";
import { ACTIVE_ATTACKS_MAX } from "../../limits.ts";
import { EXACT } from "../certainty/sampling.ts";
import {
  AttackMeters,
  type DroppedOf,
  MEASURED_ATTACKS_KEPT,
  SERIES_POINTS_MAX,
  SERIES_POINTS_PER_ATTACK,
} from "./attack-meters.ts";
import { type AttackVolume, type DroppedAmount, NO_DROPS } from "./attack-volume.ts";

const ATTACK = attack();
const NOTHING_KNOWN: DroppedOf = () => null;

function metersWith(droppedOf = NOTHING_KNOWN): AttackMeters {
  return new AttackMeters({ tickMs: 100, droppedOf });
}

/** `packets` in `spanMs`; the attack's threshold is 1000 packets/s. */
function counted(packets: number, { endMs = 0, spanMs = 100, isBefore = false, sampleWeight = 0 } = {}) {
  return {
    endMs,
    spanMs,
    isBefore,
    // All packets have 125 bytes.
    weights: { column: [sampleWeight, 125 * sampleWeight], from: 0 },
    amounts: thresholds({ pps: packets, mbps: packets / 1000 }),
    from: 0,
  };
}

/** As counted by destination. */
function outcomes(packets: number): DroppedAmount {
  return { packets, bits: 0, by: { ...NO_DROPS, rules: { packets, bits: 0 } } };
}

describe("the rate of a tick", () => {
  /** Of a flood of 1500 packets a second whose worker hands some counts over late; [packets, ms]. */
  test.each([
    [
      "that is steady is its own",
      [
        [150, 100],
        [160, 100],
        [150, 100],
      ],
      1600,
      100,
    ],
    [
      "after a late one is that of both",
      [
        [150, 100],
        [120, 145],
        [190, 55],
        [150, 100],
      ],
      1550,
      200,
    ],
    [
      "that is full, after a late one, too",
      [
        [150, 100],
        [120, 145],
        [255, 100],
        [150, 100],
      ],
      1531,
      245,
    ],
    [
      "of several short ones is that of a tick at least",
      [
        [150, 100],
        [10, 30],
        [80, 30],
        [60, 40],
      ],
      1500,
      100,
    ],
  ])("%s", (_, ticks, peakPps, peakOverMs) => {
    const meters = metersWith();
    for (const [packets = 0, spanMs] of ticks) tick(meters, ATTACK, counted(packets, { spanMs }));
    const volume = meters.volumeOf(ATTACK);
    expect(volume).toMatchObject({ packets: ticks.reduce((sum, [packets = 0]) => sum + packets, 0), peakOverMs });
    expect(Math.round(volume?.peakPps ?? 0)).toBe(peakPps);
    const points = [...(meters.seriesOf(ATTACK.id)?.points() ?? [])];
    expect(points).toHaveLength(ticks.length);
    expect(Math.max(...points.map(({ ppsMax }) => ppsMax))).toBe(volume?.peakPps ?? 0);
  });
});

test("what came before the window is in the series alone", () => {
  const meters = metersWith();
  tick(meters, ATTACK, counted(900, { endMs: 0, spanMs: 1000, isBefore: true }));
  tick(meters, ATTACK, counted(500, { endMs: 1100 }));
  expect(meters.volumeOf(ATTACK)?.packets).toBe(500);
  expect([...(meters.seriesOf(ATTACK.id)?.points() ?? [])].map(({ packets }) => packets)).toEqual([900, 500]);
});

describe("a suspect", () => {
  const SUSPECT = {
    thresholds: thresholds({ pps: 1000 }),
    metric: 0,
    target: ATTACK.target,
    direction: ATTACK.direction,
  };

  test("that becomes an attack has been measured since it was one #series-begins-before", () => {
    const meters = metersWith();
    meters.suspect("incoming 192.0.2.1", SUSPECT);
    meters.addToSuspect("incoming 192.0.2.1", counted(500));
    meters.suspect("incoming 192.0.2.1", SUSPECT);
    meters.addToSuspect("incoming 192.0.2.1", counted(500, { endMs: 100 }));
    meters.adopt("incoming 192.0.2.1", ATTACK);
    tick(meters, ATTACK, counted(500, { endMs: 200 }));
    expect(meters.volumeOf(ATTACK)).toMatchObject({ packets: 1500, durationMs: 300 });
    expect(meters.seriesOf(ATTACK.id)?.length).toBe(3);
  });

  test.each([
    ["since it is watched", null, 1200],
    ["since it is a suspect, where it was watched before", outcomes(300), 900],
  ])("has its drops counted %s, however long it is none of an attack", (_, before, expected) => {
    let dropped: DroppedAmount | null = before;
    const meters = metersWith(() => dropped);
    meters.suspect("incoming 192.0.2.1", SUSPECT);
    meters.addToSuspect("incoming 192.0.2.1", counted(700));
    dropped = outcomes(1000);
    meters.adopt("incoming 192.0.2.1", ATTACK);
    dropped = outcomes(1200);
    tick(meters, ATTACK, counted(700, { endMs: 100 }));
    expect(meters.volumeOf(ATTACK)?.dropped?.packets).toBe(expected);
  });

  test("that is below its thresholds again is forgotten", () => {
    const meters = metersWith();
    meters.suspect("incoming 192.0.2.1", SUSPECT);
    meters.addToSuspect("incoming 192.0.2.1", counted(500));
    meters.keepSuspects(new Map());
    meters.adopt("incoming 192.0.2.1", ATTACK);
    expect(meters.volumeOf(ATTACK)).toBeNull();
  });

  test("beyond the number of attacks that there may be is not measured", () => {
    const meters = metersWith();
    for (let i = 0; i <= ACTIVE_ATTACKS_MAX; i++) meters.suspect(String(i), SUSPECT);
    for (const last of [ACTIVE_ATTACKS_MAX - 1, ACTIVE_ATTACKS_MAX]) {
      meters.addToSuspect(String(last), counted(500));
      meters.adopt(String(last), attack({ id: `a${last}` }));
    }
    expect(meters.seriesOf(`a${ACTIVE_ATTACKS_MAX - 1}`)?.length).toBe(1);
    expect(meters.seriesOf(`a${ACTIVE_ATTACKS_MAX}`)).toBeNull();
  });
});

test("an attack without a host of its own is read once a window", () => {
  const meters = metersWith();
  const group = attack({ target: null });
  for (const monotonicMs of [0, 400, 999, 1000, 1500, 2100]) {
    const window = { rates: thresholds({ pps: 5000 }), windowMs: 1000, isAbove: true, weights: EXACT };
    meters.addWindow(group, window, { wallMs: 0, monotonicMs });
  }
  expect(meters.volumeOf(group)).toMatchObject({ packets: 15_500, durationMs: 3100, peakPps: 5000 });
});

test.each([100_000, 60_000])(
  "an attack that is read once a window is not counted from %p ms until its first reading",
  (until) => {
    const meters = metersWith();
    const none = { packets: 0, bits: 0, beganAt: 0, durationMs: 0, peakPps: 0, peakBps: 0, peakOverMs: 0 };
    const group = attack({ target: null, volume: { ...none, dropped: null, watchedUntil: until } });
    const window = { rates: thresholds({ pps: 5000 }), windowMs: 30_000, isAbove: true, weights: EXACT };
    meters.addWindow(group, window, { wallMs: 103_000, monotonicMs: 0 });
    expect(meters.volumeOf(group)?.notCounted).toEqual([{ fromMs: until, toMs: 103_000 }]);
  },
);

test("an attack is not held while more than its threshold gets through what is known to be dropped", () => {
  let dropped: DroppedAmount | null = { packets: 0, bits: 0 };
  const meters = metersWith(() => dropped);
  let endMs = 1_000_000;
  /** Seconds in which 1500 packets are offered, and this number dropped; null: the number is not known. */
  const second = (more: number | null) => {
    dropped = more === null ? null : { packets: (dropped?.packets ?? 0) + more, bits: 0 };
    for (let i = 0; i < 10; i++) {
      endMs += 100;
      tick(meters, ATTACK, counted(150, { endMs }));
    }
    return meters.overThresholdMs(ATTACK.id, endMs);
  };
  second(0);
  const unheld = [0, 400, 499, 500, 1500, 0, null, 0].map(second);
  expect(unheld.map((ms) => ms > 0)).toEqual([true, true, true, false, false, true, false, true]);
  expect((unheld[2] ?? 0) - (unheld[0] ?? 0)).toBe(2000);
  expect(meters.overThresholdMs("another", endMs)).toBe(0);
});

test("an attack on several targets is held while no more gets through than all of their thresholds", () => {
  let dropped: DroppedAmount = { packets: 0, bits: 0 };
  const meters = metersWith(() => dropped);
  const group = { ...ATTACK, id: "spread" };
  let at = 1_000_000;
  /** Seconds in which 5500 packets are offered, with the number to one target, and the number dropped. */
  const second = (more: number, toOne = 1400) => {
    dropped = { packets: dropped.packets + more, bits: 0 };
    at += 1000;
    const spread = { targets: 4, busiest: thresholds({ pps: toOne }) };
    const window = { rates: thresholds({ pps: 5500 }), windowMs: 1000, isAbove: true, weights: EXACT, spread };
    meters.addWindow(group, window, { wallMs: at, monotonicMs: at });
    return meters.overThresholdMs(group.id, at) > 0;
  };
  second(0);
  expect([1400, 1600, 4600, 1000].map((more) => second(more))).toEqual([true, false, false, true]);
  // One of them alone has more than its threshold through.
  expect([second(1600, 2500), second(1600, 2700)]).toEqual([false, true]);
});

describe("what was dropped", () => {
  test("counts answers and proofs since the attack is measured, and from zero since another ban counts", () => {
    let dropped: DroppedAmount = { packets: 100, bits: 800, challenged: 50, validated: 1 };
    const meters = metersWith(() => dropped);
    tick(meters, ATTACK, counted(500, { endMs: 1000 }));
    dropped = { packets: 400, bits: 3200, challenged: 90, validated: 4 };
    tick(meters, ATTACK, counted(500, { endMs: 2000 }));
    dropped = { packets: 50, bits: 400 };
    tick(meters, ATTACK, counted(500, { endMs: 3000 }));
    dropped = { packets: 60, bits: 480, challenged: 5, validated: 2 };
    tick(meters, ATTACK, counted(500, { endMs: 4000 }));
    const all = { packets: 360, bits: 2880, challenged: 45, validated: 5 };
    expect(meters.volumeOf(ATTACK)?.dropped).toEqual(all);
  });

  test("counts from the start of the attack, also over a second ban", () => {
    let dropped = { packets: 100, bits: 800 };
    const meters = metersWith(() => dropped);
    tick(meters, ATTACK, counted(500, { endMs: 1000 }));
    dropped = { packets: 400, bits: 3200 };
    tick(meters, ATTACK, counted(500, { endMs: 2000 }));
    dropped = { packets: 50, bits: 400 };
    tick(meters, ATTACK, counted(500, { endMs: 3000 }));
    expect(meters.volumeOf(ATTACK)?.dropped).toEqual({ packets: 350, bits: 2800 });
  });

  test("is counted once where the outcomes by destination follow the counters of a ban's rules", () => {
    const readings = [
      { packets: 1000, bits: 0 },
      { packets: 1050, bits: 0 },
      outcomes(4000),
      { packets: 9000, bits: 0 },
    ];
    let dropped: DroppedAmount = { packets: 1000, bits: 0 };
    const meters = metersWith(() => dropped);
    const sums = readings.map((reading, i) => {
      dropped = reading;
      tick(meters, ATTACK, counted(5000, { endMs: 1000 * (i + 1) }));
      return meters.volumeOf(ATTACK)?.dropped?.packets;
    });
    expect(sums).toEqual([0, 50, 4000, 4000]);
    const { by } = meters.volumeOf(ATTACK)?.dropped ?? {};
    expect(Object.values(by ?? {}).reduce((sum, { packets }) => sum + packets, 0)).toBe(4000);
  });

  test("is counted once where it was not known for a while whose it was", () => {
    const readings = [0, 100, null, 160, 20].map((packets) => (packets === null ? null : { packets, bits: 0 }));
    let dropped: DroppedAmount | null = { packets: 0, bits: 0 };
    const meters = metersWith(() => dropped);
    const sums = readings.map((reading, i) => {
      dropped = reading;
      tick(meters, ATTACK, counted(500, { endMs: 1000 * (i + 1) }));
      return meters.volumeOf(ATTACK)?.dropped?.packets;
    });
    // Counters that are lower are of another ban, which counts from zero.
    expect(sums).toEqual([0, 100, 100, 160, 180]);
  });

  test("is not known where no part reports it", () => {
    const meters = metersWith();
    tick(meters, ATTACK, counted(500));
    expect(meters.volumeOf(ATTACK)?.dropped).toBeNull();
    expect([...(meters.seriesOf(ATTACK.id)?.points() ?? [])].map(({ dropped }) => dropped)).toEqual([null]);
  });
});

/** What was counted of the attacked host in one tick. */
function tick(meters: AttackMeters, attacked: typeof ATTACK, counts: ReturnType<typeof counted>): void {
  meters.add(attacked, counts);
  meters.settle();
}

describe("series", () => {
  test.each([
    [1, SERIES_POINTS_PER_ATTACK],
    [SERIES_POINTS_MAX / SERIES_POINTS_PER_ATTACK, SERIES_POINTS_PER_ATTACK],
    [
      SERIES_POINTS_MAX / SERIES_POINTS_PER_ATTACK + 1,
      Math.floor(SERIES_POINTS_MAX / (SERIES_POINTS_MAX / SERIES_POINTS_PER_ATTACK + 1)),
    ],
    [1024, SERIES_POINTS_MAX / 1024],
  ])("of %p attacks have at most %p points each", (attacks, most) => {
    const meters = metersWith();
    for (let i = 0; i < attacks; i++) tick(meters, attack({ id: `a${i}` }), counted(1));
    let length = 0;
    for (let i = 0; i < SERIES_POINTS_PER_ATTACK; i++) {
      tick(meters, attack({ id: "a0" }), counted(1));
      length = Math.max(length, meters.seriesOf("a0")?.length ?? 0);
    }
    expect(length).toBe(most);
  });

  test("of ended attacks are kept up to the bound, the last ones", () => {
    const meters = metersWith();
    for (let i = 0; i <= MEASURED_ATTACKS_KEPT; i++) {
      tick(meters, attack({ id: `a${i}` }), counted(1));
      meters.ended(`a${i}`);
    }
    expect(meters.seriesOf("a0")).toBeNull();
    expect(meters.seriesOf("a1")?.length).toBe(1);
    expect(meters.seriesOf(`a${MEASURED_ATTACKS_KEPT}`)?.length).toBe(1);
  });
});

/** Numbers of samples of a Poisson process with this mean, from a generator of its own. */
function samplesOf(mean: number): () => number {
  let state = 7;
  const uniform = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  return () => {
    let count = 0;
    for (let product = uniform(); product > Math.exp(-mean); product *= uniform()) count++;
    return count;
  };
}

test("the peak of a constant flood, sampled 1:1000, is within a tenth of its rate, over several ticks", () => {
  const samples = samplesOf(6);
  const meters = metersWith();
  for (let i = 1; i <= 600; i++) {
    tick(meters, ATTACK, counted(1000 * samples(), { endMs: 100 * i, sampleWeight: 1000 }));
  }
  const volume = meters.volumeOf(ATTACK);
  expect(volume?.peakPps).toBeGreaterThan(54_000);
  expect(volume?.peakPps).toBeLessThan(66_000);
  expect(volume?.peakOverMs).toBeGreaterThan(5000);
  expectTruth(volume, 60_000);
});

/** The true rate is within the stated error of the peak, and that is small. */
function expectTruth(volume: AttackVolume | null, pps: number): void {
  const { peakPps = 0, peakError = 0 } = volume ?? {};
  expect(Math.abs(peakPps - pps)).toBeLessThan(peakError * peakPps);
  expect(peakError).toBeLessThan(0.25);
}

test("the truth is within the error of the peak of an attack on a hostgroup or a prefix, which is read once a window", () => {
  const samples = samplesOf(60);
  const meters = metersWith();
  const group = attack({ target: null });
  const weights = { column: [1000, 125_000], from: 0 };
  for (let second = 1; second <= 300; second++) {
    const pps = 1000 * samples();
    const rates = thresholds({ pps, mbps: pps / 1000 });
    const at = { wallMs: 1000 * second, monotonicMs: 1000 * second };
    meters.addWindow(group, { rates, windowMs: 1000, isAbove: true, weights }, at);
  }
  const volume = meters.volumeOf(group);
  expectTruth(volume, 60_000);
  expect(volume?.peakOverMs).toBeGreaterThan(5000);
});

test("a sampled flood that is over before there are enough samples has its mean as its peak, with its error", () => {
  const meters = metersWith();
  for (const [i, packets] of [1000, 9000, 2000].entries()) {
    tick(meters, ATTACK, counted(packets, { endMs: 100 * (i + 1), sampleWeight: 1000 }));
  }
  const volume = meters.volumeOf(ATTACK);
  expect(volume).toMatchObject({ peakPps: 40_000, peakOverMs: 300 });
  // Three looks at 12 samples in all.
  expect(volume?.peakError).toBeCloseTo(2.394 / Math.sqrt(12), 3);
  const [first] = [...(meters.seriesOf(ATTACK.id)?.points() ?? [])];
  expect(first?.maxDeviation).toBe(1);
});

test("a peak of traffic that is not sampled has no error", () => {
  const meters = metersWith();
  tick(meters, ATTACK, counted(500));
  expect(meters.volumeOf(ATTACK)).not.toHaveProperty("peakError");
  expect([...(meters.seriesOf(ATTACK.id)?.points() ?? [])][0]?.maxDeviation).toBe(0);
});
