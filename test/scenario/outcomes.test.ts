/** What each view of an attack says of its packets, beside those that were sent and those that arrived. `make ledger` has more. */
import { afterEach, describe, expect, test } from "bun:test";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";
import { seedsOfRun } from "../fixtures/seeds.ts";
import { Undo } from "../fixtures/undo.ts";
import { LedgerBox } from "../lab/ledger/ledger-box.ts";
import { nameOf, VICTIMS, type Victim } from "../lab/ledger/mechanisms.ts";
import { faultsOf } from "../lab/ledger/verdict.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";

/** Beside each mechanism alone. */
const PAIRS = 2;

const undo = new Undo();
afterEach(() => undo.all());

const unavailable = namespacesUnavailable();
const [seed = 0] = seedsOfRun(1);

describe.skipIf(unavailable !== null)(`outcomes of floods: ${unavailable ?? ""}`, () => {
  test(`are the sender's and the victim's own counts in every view (SEED=${seed}) #volume-dropped-packets #volume-dropped-by #volume-passed-packets`, async () => {
    const chance = new Chance(seededRandom(seed));
    const box = await LedgerBox.create(undo);
    const pairs = VICTIMS.filter(({ mechanisms }) => mechanisms.length === 2);
    const waiting = [
      ...VICTIMS.filter(({ mechanisms }) => mechanisms.length === 1),
      // Two floods of one victim at once are one attack.
      ...Array.from({ length: PAIRS }, () => pairs.splice(chance.below(pairs.length), 1)).flat(),
    ];
    const faults: string[] = [];
    const lane = async (first: Victim | undefined) => {
      for (let next = first; next !== undefined; next = waiting.shift()) {
        const numbers = await box.flood(next, chance);
        const alone = next.mechanisms.length === 1 ? next.mechanisms[0] : undefined;
        // Each of them drops something of every flood here.
        if (alone !== undefined && (numbers.views.api.dropped ?? 0) === 0) faults.push(`${alone} dropped nothing`);
        faults.push(...faultsOf(numbers).map((fault) => `${nameOf(numbers)}: ${fault}`));
      }
    };
    await Promise.all([lane(waiting.shift()), lane(waiting.shift())]);
    expect(faults).toEqual([]);
  }, 180_000);
});
