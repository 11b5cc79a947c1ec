/** Repeats of failed tests: what depends on time may fail beside others on a busy machine. Pure, but for what runs them. */
import { failedTests } from "./run-report.ts";

export interface Repeat {
  readonly command: readonly string[];
  /** The failed tests that it repeats, by name; null: it is one test. */
  readonly tests: readonly string[] | null;
}

export interface Outcome {
  readonly output: string;
  readonly failed: number;
}

/** @param run of a command @returns the tests that passed then, by name; "all": what is one test */
export async function passAgain(
  repeats: readonly Repeat[],
  triesMax: number,
  run: (command: readonly string[]) => Promise<Outcome>,
): Promise<ReadonlySet<string> | "all"> {
  const good = new Set<string>();
  for (const { command, tests } of repeats) {
    let left = tests;
    for (let tries = 0; left?.length !== 0 && tries < triesMax; tries++) left = leftOf(left, await run(command));
    if (tests === null && left !== null) return "all";
    for (const name of tests ?? []) if (left?.includes(name) === false) good.add(name);
  }
  return good;
}

/** Those that failed once more: all of them where the output does not name each failure. */
function leftOf(tests: Repeat["tests"], { output, failed }: Outcome): Repeat["tests"] {
  if (failed === 0) return [];
  const named = failedTests(output);
  return named === null ? tests : (tests?.filter((name) => named.some((test) => test.name === name)) ?? null);
}
