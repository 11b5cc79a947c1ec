import { describe, expect, test } from "bun:test";
import { address, thresholds } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  banBy,
  ended,
  flush,
  harness,
  lasts,
  policy,
  spreadOver,
  spreadTerms,
  started,
  under,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { SHORTEST_LIFE_MS } from "./replaceable-bans.ts";
import { REPLACEMENT_MS, REPLACEMENTS_AT_ONCE } from "./replacement-budget.ts";

const REPLACED = "replaced by the ban of a worse attack: max_active_bans reached";

/** An attack on 192.0.2.`last` with this packet rate. */
const attack = (last: number, pps: number, fields: Partial<Attack> = {}): Attack => ({
  ...attackOn(address(`192.0.2.${last}`)),
  rates: thresholds({ pps }),
  ...fields,
});
const decoyAddress = (i: number) => address(`192.0.${i >> 8}.${i & 255}`);
const calm = (one: Attack, calmSinceMs: number): Attack => ({ ...one, rates: thresholds({ pps: 1 }), calmSinceMs });

describe("at the cap on bans", () => {
  test("the automatic ban whose attack has been calm for longest is replaced, whatever the sizes", async () => {
    const { engine, announcer, disk } = harness({ maxActiveBans: 3 });
    const [first, second, third] = [attack(1, 9e6), attack(2, 2000), attack(3, 2000)];
    engine.attacksChanged([started(first), started(second), started(third)], 0);
    engine.attacksChanged([lasts(calm(first, 300)), lasts(calm(second, 200)), lasts(third)], 400);
    engine.attacksChanged([started(attack(4, 1100))], 500);
    expect(announcer.wanted).toEqual(["192.0.2.1/32", "192.0.2.3/32", "192.0.2.4/32"]);
    expect(engine.banOf(second)).toMatchObject({ state: "withdrawn", reason: REPLACED });
    await flush(engine);
    expect([...disk.values()].filter(({ reason }) => reason === REPLACED)).toHaveLength(1);
  });

  test("the ban of the smallest attack is replaced by that of a larger one when none is calm, never the reverse", () => {
    const { engine, announcer } = harness();
    engine.attacksChanged([started(attack(1, 5000)), started(attack(2, 3000))], 0);
    engine.attacksChanged([started(attack(3, 3000))], 100);
    expect(engine.banOf(attack(3, 0))).toMatchObject({ state: "rejected", reason: "max_active_bans reached" });
    engine.attacksChanged([lasts(attack(3, 3750))], SHORTEST_LIFE_MS);
    expect(announcer.wanted).toEqual(["192.0.2.1/32", "192.0.2.2/32"]);
    engine.attacksChanged([lasts(attack(3, 3751))], SHORTEST_LIFE_MS);
    expect(announcer.wanted).toEqual(["192.0.2.1/32", "192.0.2.3/32"]);
  });

  test("an attack shows the ban that it joined in the tick in which that was replaced", () => {
    const { engine } = harness({ maxActiveBans: 1 });
    engine.attacksChanged([started(attack(1, 2000, { direction: "outgoing" }))], 0);
    const joins = attack(1, 2000, { id: "joins", startedAt: 100 });
    engine.attacksChanged([started(joins), started(attack(2, 9e6))], SHORTEST_LIFE_MS);
    expect(engine.banOf(joins)).toMatchObject({ state: "withdrawn", reason: REPLACED });
  });

  test("a calm attack gets no ban, and asks for one again when it is not", () => {
    const { engine, announcer } = harness({ maxActiveBans: 1 });
    const [large, small] = [attack(1, 9e6), attack(2, 2000)];
    engine.attacksChanged([started(large), started(small)], 0);
    engine.attacksChanged([ended(large), lasts(calm(small, 50))], 100);
    expect(announcer.wanted).toEqual([]);
    engine.attacksChanged([lasts(small)], 200);
    expect(announcer.wanted).toEqual(["192.0.2.2/32"]);
  });

  test("a manual ban is never replaced, nor is one that an operator has extended", async () => {
    const { engine } = harness();
    await banBy(engine, address("192.0.2.1"), 0);
    engine.attacksChanged([started(attack(2, 2000))], 0);
    await banBy(engine, address("192.0.2.2"), 1);
    engine.attacksChanged([lasts(calm(attack(2, 0), 2)), started(attack(3, 9e6))], 100);
    expect(engine.banOf(attack(3, 0))).toMatchObject({ state: "rejected", reason: "max_active_bans reached" });
    expect(await banBy(engine, address("192.0.2.4"), 200)).toMatchObject({ reason: "max_active_bans reached" });
  });

  test("an operator's ban replaces none: it is refused with the cap as its reason", async () => {
    const { engine } = harness({ maxActiveBans: 1 });
    engine.attacksChanged([started(attack(1, 2000))], 0);
    engine.attacksChanged([lasts(calm(attack(1, 0), 50))], 100);
    const refused = { state: "rejected", reason: "max_active_bans reached" };
    expect(await banBy(engine, address("192.0.2.2"), 200)).toMatchObject(refused);
  });

  test("a ban that a repetition holds is not taken for calm, and counts for half of its peak", () => {
    const repeats = under({ ban: { repeatWindowSeconds: 600 } });
    const { engine, announcer } = harness({ ...repeats, maxActiveBans: 1 });
    for (const now of [0, 1000]) {
      engine.attacksChanged([started(attack(1, 5000))], now);
      engine.attacksChanged([ended(attack(1, 5000))], now + 500);
    }
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
    engine.attacksChanged([started(attack(2, 3125))], 2000);
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
    engine.attacksChanged([lasts(attack(2, 3126))], 2100);
    expect(announcer.wanted).toEqual(["192.0.2.2/32"]);
  });

  test("attacks that their bans hide do not replace one another for ever", () => {
    const { engine, announcer, seen } = harness({ maxActiveBans: 3 });
    // Each is seen while it has no ban, and calm while it has one.
    const attacks = Array.from({ length: 4 }, (_, i) => attack(i + 1, 5000 + i));
    const calmSince = new Map<string, number>();
    const withdrawn = () => seen.filter((change) => change.endsWith("withdrawn")).length;
    let early = 0;
    for (let now = 0; now < 60_000; now += 100) {
      const changes = attacks.map((one) => {
        if (engine.active.has(`${one.target}/32`)) {
          calmSince.set(one.id, calmSince.get(one.id) ?? now);
          return lasts(calm(one, calmSince.get(one.id) as number));
        }
        calmSince.delete(one.id);
        return lasts(one);
      });
      engine.attacksChanged(changes, now);
      if (now === 10_000) early = withdrawn();
    }
    expect(announcer.wanted).toHaveLength(3);
    expect(early).toBeGreaterThan(0);
    expect(withdrawn()).toBe(early);
  });

  test("an attack that is back after its ban was replaced replaces only what is clearly smaller", () => {
    const { engine, announcer } = harness({ maxActiveBans: 1 });
    engine.attacksChanged([started(attack(1, 5000))], 0);
    engine.attacksChanged([started(attack(2, 6251))], 1000);
    expect(announcer.wanted).toEqual(["192.0.2.2/32"]);
    engine.attacksChanged([lasts(attack(2, 4000)), lasts(attack(1, 7813))], 2000);
    expect(announcer.wanted).toEqual(["192.0.2.2/32"]);
    engine.attacksChanged([lasts(attack(1, 7814))], 2000);
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
  });

  test("a ban in force for less than its shortest life is not replaced, by whatever attack", () => {
    const { engine, announcer } = harness({ maxActiveBans: 1 });
    engine.attacksChanged([started(attack(1, 2000))], 0);
    engine.attacksChanged([started(attack(2, 9e6))], SHORTEST_LIFE_MS - 1);
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
    engine.attacksChanged([lasts(attack(2, 9e6))], SHORTEST_LIFE_MS);
    expect(announcer.wanted).toEqual(["192.0.2.2/32"]);
  });

  test("of the new attacks of a tick the largest has the place, in whatever order they come", () => {
    const { engine, announcer } = harness({ maxActiveBans: 1 });
    engine.attacksChanged(
      [2, 3, 4, 5].map((last) => started(attack(last, last === 4 ? 9000 : 2000))),
      0,
    );
    expect(announcer.wanted).toEqual(["192.0.2.4/32"]);
  });

  test("attacks that grow from one to the next replace bans at a bounded rate, and the largest is banned in time", () => {
    const { engine, seen } = harness({ maxActiveBans: 20 });
    const withdrawn = () => seen.filter((change) => change.endsWith("withdrawn")).length;
    const [stepMs, endMs, floodMs] = [100, 10_000, 8000];
    const flood = attack(255, 9e9);
    let bannedAtMs = Number.POSITIVE_INFINITY;
    for (let now = 0; now < endMs; now += stepMs) {
      // Ten new ones in each tick; each is larger by a half than those of the tick before.
      const decoys = Array.from({ length: 10 }, (_, i) =>
        started(attack(0, 2000 * 1.5 ** (now / stepMs / 4), { id: `${now} ${i}`, target: decoyAddress(now / 10 + i) })),
      );
      engine.attacksChanged(now < floodMs ? decoys : [...decoys, lasts(flood)], now);
      if (engine.banOf(flood)?.state === "active") bannedAtMs = Math.min(bannedAtMs, now);
    }
    expect(withdrawn()).toBeGreaterThan(0);
    expect(withdrawn()).toBeLessThanOrEqual(REPLACEMENTS_AT_ONCE + endMs / REPLACEMENT_MS);
    expect(bannedAtMs - floodMs).toBeLessThanOrEqual(2000);
  });

  test("that a reload has lowered one ban replaces one, and the others stay", () => {
    const { engine } = harness({ maxActiveBans: 4 });
    engine.attacksChanged(
      [1, 2, 3, 4].map((last) => started(attack(last, 2000))),
      0,
    );
    engine.reconfigure(policy({ maxActiveBans: 2 }), 50);
    engine.attacksChanged([started(attack(5, 3000))], SHORTEST_LIFE_MS);
    expect(engine.active.size).toBe(4);
    expect(engine.banOf(attack(5, 0))?.state).toBe("active");
  });
});

test("at max_banned_fraction as many bans of the same family are replaced as a prefix needs, and none if that is not enough", () => {
  const spread = spreadTerms("blackhole");
  const { engine, announcer } = harness({ spread, maxActiveBans: 9, maxBannedFraction: 0.5, addresses: () => 8 });
  engine.attacksChanged([started(attack(1, 2000)), started(attack(2, 3000)), started(attack(3, 4000))], 0);
  const wide = { ...spreadOver("192.0.2.128/30"), rates: thresholds({ pps: 3500 }) };
  engine.attacksChanged([started(wide)], SHORTEST_LIFE_MS);
  expect(engine.banOf(wide)).toMatchObject({ state: "rejected", reason: "max_banned_fraction reached" });
  expect(announcer.wanted).toHaveLength(3);
  engine.attacksChanged([lasts({ ...wide, rates: thresholds({ pps: 5001 }) })], SHORTEST_LIFE_MS);
  expect(announcer.wanted).toEqual(["192.0.2.128/30"]);
  expect(engine.banOf(attack(1, 0))).toMatchObject({
    reason: "replaced by the ban of a worse attack: max_banned_fraction reached",
  });
});
