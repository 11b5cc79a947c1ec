/** What several brains have of an incident is the same, in whatever order they hear of it. */
import { expect, test } from "bun:test";
import { Chance, longRandom } from "../../test/fixtures/seeded-random.ts";
import { seedsOfRun } from "../../test/fixtures/seeds.ts";
import { NO_TENANTS } from "../access/shares.ts";
import { joinedWork } from "./joined-work.ts";
import { type Deed, NO_WORK, nextDeedMs, noted, ordered, type Work, type WorkOrder } from "./work.ts";

const ORDERS: readonly WorkOrder[] = [
  ...[{ owner: "take" }, { owner: "release" }, { acknowledge: true }, { classification: "real" }],
  ...[{ classification: null }, { classification: "false_alarm" }, { handover: "acknowledge" }],
] as const;

test.each(seedsOfRun(200))("brains agree, and no note is lost, from seed %d", (seed) => {
  const chance = new Chance(longRandom(seed));
  const brains: Work[] = [NO_WORK, NO_WORK, NO_WORK];
  let notes = 0;
  for (let step = 0; step < 30; step++) {
    const i = chance.below(3);
    const own = brains[i] as Work;
    // Clocks are wrong by seconds.
    const by = { operator: chance.oneOf(["noc", "day"]), tenant: null };
    const deed: Deed = { by, atMs: nextDeedMs(own, 1_000_000 + step * 100 + i * 2000) };
    if (chance.oneIn(3)) brains[i] = joinedWork(own, chance.oneOf(brains));
    else if (chance.oneIn(4)) {
      const answer = noted(own, { text: String(step), isHandover: chance.oneIn(2) }, deed, NO_TENANTS);
      if (answer.kind === "work") [brains[i], notes] = [answer.work, notes + 1];
    } else {
      const answer = ordered(own, chance.oneOf(ORDERS), deed);
      if (answer.kind === "work") {
        // Who decides last and knows of all is right.
        brains[i] = answer.work;
        expect(joinedWork(answer.work, own)).toEqual(answer.work);
        expect(joinedWork(own, answer.work)).toEqual(answer.work);
      }
    }
  }
  const [a, b, c] = brains as [Work, Work, Work];
  const all = joinedWork(joinedWork(a, b), c);
  expect(joinedWork(c, joinedWork(b, a))).toEqual(all);
  expect(joinedWork(joinedWork(c, a), b)).toEqual(all);
  expect(joinedWork(all, b)).toBe(all);
  expect(all.notes.map(({ id }) => id)).toEqual(Array.from({ length: notes }, (_, i) => i + 1));
});
