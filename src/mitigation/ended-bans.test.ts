import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  banBy,
  ended,
  harness,
  lasts,
  unbanBy,
  victim,
  WHITELISTED,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { ban } from "../../test/fixtures/views.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { forgettingTable } from "../system/record-table.ts";
import { EndedBans } from "./ended-bans.ts";

describe("an attack", () => {
  test("that is over still shows the manual ban that covered it, also beside a later attack and once that is lifted #attack-ban-state", async () => {
    const { engine } = harness();
    await banBy(engine, victim, 0);
    const [first, second, later] = [
      { ...attackOn(victim, "first"), startedAt: 100, endedAt: 200 },
      { ...attackOn(victim, "second"), startedAt: 300, endedAt: 400 },
      { ...attackOn(victim, "later"), startedAt: 500, endedAt: 600 },
    ];
    for (const attack of [first, second]) {
      engine.attacksChanged([{ kind: "started", attack: { ...attack, endedAt: null } }], attack.startedAt);
      engine.attacksChanged([{ kind: "ended", attack }], attack.endedAt);
      expect(engine.banOf(attack)).toMatchObject({ state: "active", manual: true });
    }
    expect(engine.banOf(first)).toMatchObject({ state: "active", manual: true });
    await unbanBy(engine, victim, 500);
    for (const attack of [first, second]) expect(engine.banOf(attack)).toMatchObject({ reason: "manual unban" });
    expect(engine.banOf(later)).toBeNull();
  });

  test("that was over before a manual ban began does not show it", async () => {
    const { engine } = harness();
    await banBy(engine, victim, 200);
    expect(engine.banOf({ ...attackOn(), startedAt: 100, endedAt: 200 })).toBeNull();
  });
});

test("the counts are those of a walk through the table, whatever happened to it", async () => {
  const seed = Math.trunc(Math.random() * 2 ** 32);
  console.log(`seed ${seed}`);
  const random = seededRandom(seed);
  const below = (bound: number) => Math.floor(random() * bound);
  const { engine } = harness({ maxActiveBans: 5 }, { endedKept: 20 });
  const targets = [...Array.from({ length: 9 }, (_, i) => address(`192.0.2.${i}`)), WHITELISTED];
  const attacks = new Map<string, Attack>();
  const seen = new Set<string>();
  for (let step = 0; step < 2000; step++) {
    const target = targets[below(targets.length)] as typeof victim;
    const attack = attacks.get(target);
    switch (below(5)) {
      case 0:
        await banBy(engine, target, step);
        break;
      case 1:
        await unbanBy(engine, target, step);
        break;
      case 2:
        attacks.set(target, attack ?? attackOn(target, `attack ${step}`));
        break;
      case 3:
        if (attack !== undefined) engine.attacksChanged([ended(attack)], step);
        attacks.delete(target);
        break;
      default:
        engine.tick(step * 10_000);
    }
    engine.attacksChanged([...attacks.values()].map(lasts), step);
    const walked = Object.groupBy(engine.all(), ({ state, method }) => `${state} ${method}`);
    for (const { state, method, bans } of engine.counts()) {
      expect(`${state}: ${bans}`).toBe(`${state}: ${walked[`${state} ${method}`]?.length ?? 0}`);
      if (bans > 0) seen.add(state);
    }
  }
  expect([...seen].sort()).toEqual(["active", "rejected", "withdrawn"]);
});

test("the ban of an attack is found without a look at the bans of other prefixes", () => {
  const bans = new EndedBans({ endedKept: 1000, store: forgettingTable(), policy: () => ({ tenantOf: () => null }) });
  let looks = 0;
  const add = (target: string) => {
    const own = ban({ id: target, target, manual: true, attackId: null, heldBy: [], state: "withdrawn", startedAt: 0 });
    const { prefix } = own;
    const get = () => {
      looks++;
      return prefix;
    };
    bans.add(Object.defineProperty({ ...own, withdrawnAt: 900 }, "prefix", { get }));
  };
  for (let i = 1; i <= 100; i++) add(`192.0.2.${i}`);
  looks = 0;
  expect(bans.of({ ...attackOn(address("192.0.2.7")), startedAt: 100, endedAt: 200 })?.id).toBe("192.0.2.7");
  expect(bans.of({ ...attackOn(address("203.0.113.1")), startedAt: 100, endedAt: 200 })).toBeNull();
  expect(looks).toBe(0);
});
