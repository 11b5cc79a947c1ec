/**
 * The largest flood is mitigated within 2 s, however an attacker tries to occupy all bans and the table of attacks
 * before it. SEED repeats one attack; ROUNDS says how many are tried.
 */
import { expect, test } from "bun:test";
import { attackWithDecoys } from "./decoy-attack.ts";

const MITIGATED_WITHIN_MS = 2000;
const { SEED: seedText = "", ROUNDS: roundsText = "" } = process.env;
const rounds = Number(roundsText === "" ? 2 : roundsText);
const seeds =
  seedText === "" ? Array.from({ length: rounds }, () => Math.trunc(Math.random() * 2 ** 32)) : [Number(seedText)];

test.each(seeds)(
  "the largest flood is mitigated whatever decoys there are (SEED=%d)",
  async (seed) => {
    const { plan, outcome } = await attackWithDecoys(seed);
    console.log(`SEED=${seed} ${JSON.stringify({ ...plan, ...outcome })}`);
    expect(outcome.errors).toEqual([]);
    expect(outcome.longestGapMs).toBeLessThanOrEqual(MITIGATED_WITHIN_MS);
    // Each attack or pulse replaces one ban, and perhaps more when it is fully measured or back; none goes on for ever.
    expect(outcome.replacedBans).toBeLessThanOrEqual(3 * (outcome.attacks + outcome.decoys));
  },
  300_000,
);
