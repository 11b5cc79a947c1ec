import { describe, expect, test } from "bun:test";
import { address, thresholds } from "../../../test/fixtures/host-rows.ts";
import { METRICS, type RatesWire } from "../../traffic/rates.ts";
import { type Attack, attackRate, endAttack, firstCrossed, isActive, observeAttack, startAttack } from "./attack.ts";
import { explain } from "./reason.ts";

const rates = (values: Partial<RatesWire>) => thresholds(values);
const limits = thresholds({ pps: 1000, mbps: 10, flows_per_sec: 100, tcp_syn_pps: 50 });

function attackAt(monotonicMs: number) {
  const seen = rates({ pps: 1500, mbps: 20 });
  const subject = { target: address("192.0.2.1"), group: "global", direction: "incoming" } as const;
  const judged = { thresholds: limits, metric: 0, rates: seen, reason: explain(seen) };
  return startAttack({ id: "a1", ...subject, ...judged }, { wallMs: 5000, monotonicMs });
}

describe("thresholds", () => {
  test.each(METRICS.map((metric, index) => [metric, index] as const))(
    "%s trips when strictly over",
    (metric, index) => {
      const only = thresholds({ [metric]: 10 });
      expect(firstCrossed(rates({ [metric]: 10 }), only)).toBe(-1);
      expect(firstCrossed(rates({ [metric]: 10.001 }), only)).toBe(index);
    },
  );

  test("a threshold of 0 is off", () => {
    expect(firstCrossed(rates({ udp_pps: 1e9 }), limits)).toBe(-1);
  });

  test("the first crossed in the configured order is the metric", () => {
    expect(firstCrossed(rates({ tcp_syn_pps: 51, flows_per_sec: 101, mbps: 11 }), limits)).toBe(1);
    expect(firstCrossed(rates({ tcp_syn_pps: 51, flows_per_sec: 101 }), limits)).toBe(2);
    expect(firstCrossed(rates({ tcp_syn_pps: 51 }), limits)).toBe(9);
  });
});

describe("an attack", () => {
  test("freezes metric and threshold and follows the rate #attack-metric", () => {
    const later = observeAttack(attackAt(0), { rates: rates({ pps: 9000 }), volume: null }, 2000, {
      wallMs: 6000,
      monotonicMs: 1000,
    });
    expect(later).toMatchObject({ metric: "pps", threshold: 1000, startedAt: 5000 });
    expect(attackRate(later)).toBe(9000);
  });

  test("ends once all rates were within the thresholds for the hysteresis", () => {
    const calm = rates({ pps: 1000 });
    const at = (monotonicMs: number) => ({ wallMs: 5000 + monotonicMs, monotonicMs });
    let attack = observeAttack(attackAt(0), { rates: calm, volume: null }, 2000, at(1000));
    attack = observeAttack(attack, { rates: calm, volume: null }, 2000, at(2999));
    expect(isActive(attack)).toBe(true);
    attack = observeAttack(attack, { rates: calm, volume: null }, 2000, at(3000));
    expect(attack.endedAt).toBe(8000);
  });

  test("restarts its calm after every crossing, of any metric", () => {
    const at = (monotonicMs: number) => ({ wallMs: 0, monotonicMs });
    let attack = observeAttack(attackAt(0), { rates: rates({}), volume: null }, 2000, at(1000));
    attack = observeAttack(attack, { rates: rates({ tcp_syn_pps: 51 }), volume: null }, 2000, at(2900));
    expect(attack.calmSinceMs).toBeNull();
    attack = observeAttack(attack, { rates: rates({}), volume: null }, 2000, at(3000));
    expect(isActive(observeAttack(attack, { rates: rates({}), volume: null }, 2000, at(4999)))).toBe(true);
    expect(isActive(observeAttack(attack, { rates: rates({}), volume: null }, 2000, at(5000)))).toBe(false);
  });

  test("without hysteresis ends with the first calm tick", () => {
    expect(
      isActive(observeAttack(attackAt(0), { rates: rates({}), volume: null }, 0, { wallMs: 1, monotonicMs: 1 })),
    ).toBe(false);
  });
});

describe("each state and event", () => {
  const HYSTERESIS_MS = 2000;
  const over = attackAt(0);
  const calm: Attack = { ...over, calmSinceMs: 500 };
  const ended: Attack = { ...calm, endedAt: 4000 };
  const STATES = { over, calm, ended } as const;
  type State = keyof typeof STATES;
  const EVENTS = {
    crosses: (attack: Attack) => seen(attack, { pps: 9000 }, 1000),
    "is calm": (attack: Attack) => seen(attack, { pps: 10 }, 1000),
    "was calm for long": (attack: Attack) => seen(attack, { pps: 10 }, 500 + HYSTERESIS_MS),
    "is seen by itself no more": (attack: Attack) => endAttack(attack, 6000),
  } as const;
  const NEXT: Readonly<Record<State, Readonly<Record<keyof typeof EVENTS, State>>>> = {
    over: { crosses: "over", "is calm": "calm", "was calm for long": "calm", "is seen by itself no more": "ended" },
    calm: { crosses: "over", "is calm": "calm", "was calm for long": "ended", "is seen by itself no more": "ended" },
    ended: { crosses: "ended", "is calm": "ended", "was calm for long": "ended", "is seen by itself no more": "ended" },
  };

  function seen(attack: Attack, values: Partial<RatesWire>, monotonicMs: number): Attack {
    return observeAttack(attack, { rates: rates(values), volume: null }, HYSTERESIS_MS, { wallMs: 6000, monotonicMs });
  }

  function stateOf({ endedAt, calmSinceMs }: Attack): State {
    return endedAt !== null ? "ended" : calmSinceMs !== null ? "calm" : "over";
  }

  const rows = (Object.keys(STATES) as State[]).flatMap((state) =>
    (Object.keys(EVENTS) as (keyof typeof EVENTS)[]).map((event) => [state, event, NEXT[state][event]] as const),
  );

  test.each(rows)("%s: %s, and it is %s", (state, event, next) => {
    const before = STATES[state];
    const after = EVENTS[event](before);
    expect(stateOf(after)).toBe(next);
    expect(after).toMatchObject({ id: "a1", metric: "pps", threshold: 1000, thresholds: limits, startedAt: 5000 });
    // An ended attack never changes; its rates are the last ones during the attack.
    if (state === "ended") expect(after).toBe(before);
    else if (next === "ended") expect(after).toMatchObject({ endedAt: 6000, rates: before.rates });
    else expect(after.rates).not.toEqual(before.rates);
  });
});

test("the reason contains the shares of all packets", () => {
  const reason = explain(rates({ pps: 1000, udp_pps: 900, tcp_pps: 100, tcp_syn_pps: 50, frag_pps: 900 }));
  expect(reason).toEqual({
    thresholdSource: "static",
    baseline: null,
    normalOf: "recent",
    baselineConfigured: false,
    warmupRemainingSeconds: null,
    shares: { udp: 0.9, syn: 0.05, tcp: 0.1, icmp: 0, frag: 0.9 },
    dominantShareGate: 0.5,
  });
  expect(explain(rates({ mbps: 5 })).shares.udp).toBe(0);
});
