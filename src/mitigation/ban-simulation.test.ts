/**
 * Random events in random order over simulated time: attacks, manual bans, reloads, restarts, lost sessions and clock
 * steps. The invariants of the ban table must hold after each step. SEED and STEPS come from the environment.
 */
import { expect, test } from "bun:test";
import { BanSimulation } from "../../test/fixtures/mitigation/ban-simulation.ts";

const { SEED: seed = "" } = process.env;
const seeds = seed === "" ? newSeeds(8) : [Number(seed)];
const steps = Number(process.env["STEPS"] ?? 4000);

test.each(seeds)("invariants of bans hold under random events (SEED=%d)", async (seed) => {
  const simulation = new BanSimulation(seed);
  for (let step = 0; step < steps; step++) {
    const faults = await simulation.step();
    if (faults.length > 0)
      throw new Error(`SEED=${seed}, step ${step}, after ${simulation.lastEvents.join(", ")}: ${faults.join("; ")}`);
  }
  // A simulation without events would prove nothing.
  if (steps >= 4000) {
    expect([...simulation.seen].sort()).toEqual(
      expect.arrayContaining([
        ...["blackhole", "divert", "flowspec", "moved", "prefix", "rejected", "repeat", "retiring", "withdrawn"],
        ...["node", "nodes lost", "held"],
      ]),
    );
    expect(simulation.simulatedMs).toBeGreaterThan(3_600_000);
  }
});

function newSeeds(count: number): number[] {
  return Array.from({ length: count }, () => Math.trunc(Math.random() * 2 ** 32));
}
