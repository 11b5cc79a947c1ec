/**
 * Runs histories of a cluster: `bun test/cluster/model/main.ts SEED HISTORIES WRONG_MAX`. Prints each that is wrong with its seed,
 * and exits 1 if there is one.
 */
import { History, type Violation } from "./history.ts";

export interface Wrong {
  readonly seed: number;
  readonly violations: readonly Violation[];
}

/** Of histories with the seeds from `first` on; stops after `wrongMax` wrong ones. */
export async function wrongHistories(first: number, count: number, wrongMax = 5): Promise<readonly Wrong[]> {
  const wrong: Wrong[] = [];
  for (let seed = first; seed < first + count && wrong.length < wrongMax; seed++) {
    const violations = await new History(seed).run();
    if (violations.length > 0) wrong.push({ seed, violations });
  }
  return wrong;
}

if (import.meta.main) {
  const [first = Math.trunc(Math.random() * 2 ** 31), count = 10_000, wrongMax = 5] = process.argv.slice(2).map(Number);
  const startedMs = performance.now();
  const wrong = await wrongHistories(first, count, wrongMax);
  for (const { seed, violations } of wrong) console.log(`seed ${seed}:\n  ${violations.join("\n  ")}`);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  console.log(`${count} histories from seed ${first} in ${seconds} s: ${wrong.length === 0 ? "all hold" : "WRONG"}`);
  process.exit(wrong.length === 0 ? 0 : 1);
}
