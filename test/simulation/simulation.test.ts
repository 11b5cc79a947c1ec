/**
 * The whole service through simulated time: attacks, orders, reloads, restarts, a speaker and a disk that fail, and clocks
 * that are set, at random. SEED repeats a run; HOURS says how long one is.
 */
import { afterEach, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";
import { Simulation } from "./simulation.ts";

const HOURS_SHORT = 2;
/** A test run says the same of the same code; a long one draws its seed. */
const SEED_SHORT = 1_701_032_026;
const HOUR_MS = 3_600_000;
const { SEED: seedText = "", HOURS: hoursText = "" } = process.env;
const hours = Number(hoursText === "" ? HOURS_SHORT : hoursText);
const seeds = [seedText === "" ? (hours > HOURS_SHORT ? newSeed() : SEED_SHORT) : Number(seedText)];

/** In a simulation in which little happens a promise is easily kept. */
const HAPPENS_IN_HOURS = ["flood", "host attack", "incoming attack"];
const HAPPENS_IN_DAYS = [
  ...HAPPENS_IN_HOURS,
  ...["outgoing attack", "carpet attack", "group attack", "baseline limit", "static limit"],
  ...["blackhole", "flowspec", "divert", "retiring", "fallback", "repeat", "rejected: whitelisted"],
  ...["order", "unban", "reload", "kill", "stop", "clock set", "disk full"],
  ...["session lost", "speaker restarts", "speaker freezes", "speaker refuses", "rules are kept back"],
  "order while deferring",
];
const HOURS_FOR_ALL = 72;
/** Ten times that of an hour on a machine with nothing else to do. */
setDefaultTimeout(hours * 90_000);

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

test.each(seeds)(`the service keeps its promises for ${hours} h, whatever happens (SEED=%d)`, async (seed) => {
  // Packets of a sample are drawn at random too: with this all of it follows from the seed.
  const chance = new Chance(seededRandom(seed));
  const random = spyOn(Math, "random").mockImplementation(() => chance.random());
  undo.push(() => random.mockRestore());
  const simulation = new Simulation(seed);
  undo.push(() => simulation.close());
  console.log(`SEED=${seed}, ${hours} h`);
  for (let day = 1; simulation.nowMs < hours * HOUR_MS; day++) {
    while (simulation.nowMs < Math.min(24 * day, hours) * HOUR_MS) {
      const broken = await simulation.step();
      if (broken.length > 0) throw new Error(`SEED=${seed}:\n${broken.join("\n")}\nafter\n${simulation.lastEvents}`);
    }
    if (hours > 24) console.log(`SEED=${seed}, day ${day}: ${simulation.happenings}`);
  }
  const expected = hours >= HOURS_FOR_ALL ? HAPPENS_IN_DAYS : HAPPENS_IN_HOURS;
  expect([...simulation.happened.keys()]).toEqual(expect.arrayContaining(expected));
});

function newSeed(): number {
  return Math.trunc(Math.random() * 2 ** 32);
}
