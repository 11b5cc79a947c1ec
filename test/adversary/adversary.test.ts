/**
 * The service keeps its promises whatever an attacker does and whatever fails meanwhile. SEED repeats one attack, or is
 * the first of SEEDS attacks.
 */
import { afterEach, expect, spyOn, test } from "bun:test";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";
import { seedsOfRun } from "../fixtures/seeds.ts";
import { Adversary } from "./adversary.ts";

/** `make simulate` has a thousand. */
const SEEDS_SHORT = 4;
const PROGRESS_EVERY = 50;
const seeds = seedsOfRun(SEEDS_SHORT);

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step();
});

test(`the service keeps its promises under ${seeds.length} attacks (SEED=${seeds[0]} and following)`, async () => {
  const happened = new Map<string, number>();
  const failed: string[] = [];
  for (const [i, seed] of seeds.entries()) {
    const { broken, adversary } = await attack(seed);
    for (const [what, times] of adversary.happened) happened.set(what, (happened.get(what) ?? 0) + times);
    if (broken.length > 0) {
      failed.push(`SEED=${seed}: ${broken.join("; ")}`);
      console.log(`${failed.at(-1)}\n${JSON.stringify(adversary.plan)}`);
    }
    if ((i + 1) % PROGRESS_EVERY === 0)
      console.log(`${i + 1} of ${seeds.length} attacks, ${failed.length} with a broken promise`);
  }
  console.log([...happened].map(([what, times]) => `${what} ${times}`).join(", "));
  expect(failed).toEqual([]);
}, 36_000_000);

async function attack(seed: number) {
  // Packets of a sample are drawn at random too: with this all of it follows from the seed.
  const chance = new Chance(seededRandom(seed));
  const random = spyOn(Math, "random").mockImplementation(() => chance.random());
  const adversary = new Adversary(seed);
  undo.push(() => adversary.close());
  try {
    return { broken: await adversary.run(), adversary };
  } finally {
    random.mockRestore();
    for (const step of undo.splice(0)) step();
  }
}
