/** Any JSON, query, header or length at any route: an answer of the contract, and a service that goes on. */
import { expect, test } from "bun:test";
import { HostileRun } from "../fixtures/http/hostile-run.ts";

const REQUESTS = 6000;

test("hostile requests are answered by the contract, none with a word of the inside", async () => {
  const seed = Number(process.env["FLOODWALL_SEED"] ?? Math.floor(Math.random() * 2 ** 32));
  console.log(`hostile requests: FLOODWALL_SEED=${seed} repeats them`);
  const run = new HostileRun(seed);
  try {
    for (let i = 0; i < REQUESTS; i++) await run.step();
    expect({ seed, failures: run.failures }).toEqual({ seed, failures: [] });
    // The generator tries what it is meant to try.
    expect([...run.statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 409, 413, 415]));
  } finally {
    await run.stop();
  }
});
