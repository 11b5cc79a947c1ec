/** The long form of test/api/hostile-requests.test.ts: `--requests N`, and `--seed N` to repeat a run. */
import { parseArgs } from "node:util";
import { HostileRun } from "./fixtures/http/hostile-run.ts";

const { values } = parseArgs({
  options: { requests: { type: "string", default: "100000" }, seed: { type: "string" } },
});
const requests = Number(values.requests);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
console.log(`${requests} hostile requests; --seed ${seed} repeats them`);

const run = new HostileRun(seed);
let sent = 0;
try {
  for (; sent < requests; sent++) {
    await run.step();
    if ((sent + 1) % 10_000 === 0) console.log(`${sent + 1} sent`);
  }
} catch (cause) {
  console.log(`request ${sent + 1}: ${cause instanceof Error ? cause.message : String(cause)}`);
}
const statuses = [...run.statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
console.log(`answers by status: ${statuses.join(", ")}`);
for (const failure of run.failures) console.log("failed inside:", failure);
await run.stop();
const isGood = sent === requests && requests > 0 && run.failures.length === 0;
console.log(isGood ? `${sent} requests, every answer as the contract has it` : "FAILED");
process.exit(isGood ? 0 : 1);
