/** Runs a bench until each of its rows was measured on a quiet machine, or the attempts are used up. */
import type { Load, MachineLoad } from "./machine-load.ts";
import type { Bench, Measurement, RunOptions } from "./measurement.ts";
import { disturbancesOf, type Verdict, verdictOf } from "./verdict.ts";

const ATTEMPTS_MAX = 3;
/** A bench that has run for this time is not repeated. */
const REPEAT_MINUTES_MAX = 5;

export interface Row extends Measurement {
  /** The load of other programs during the attempt from which the figures are. */
  readonly load: Load;
  /** The number of that attempt, from 1. */
  readonly attempt: number;
  readonly verdict: Verdict;
}

export interface Watch {
  /** Starts a new reading. */
  readonly load: () => Pick<MachineLoad, "read">;
  readonly nowMs: () => number;
}

/** A row that was quiet is kept; the figures of a row that never was are those of the last attempt. */
export async function measuredQuietly(
  bench: Bench,
  options: RunOptions,
  { load, nowMs }: Watch,
): Promise<readonly Row[] | { readonly skipped: string }> {
  const startedMs = nowMs();
  const rows: Row[] = [];
  for (let attempt = 1; ; attempt++) {
    const watched = load();
    const result = await bench.run(options);
    if ("skipped" in result) return result;
    const meanwhile = watched.read();
    for (const [i, row] of result.entries()) {
      const kept = rows[i];
      if (kept !== undefined && isQuiet(kept)) continue;
      rows[i] = { ...row, load: meanwhile, attempt, verdict: verdictOf(row, meanwhile) };
    }
    const isLate = nowMs() - startedMs > REPEAT_MINUTES_MAX * 60_000;
    if (rows.every(isQuiet) || attempt === ATTEMPTS_MAX || options.isQuick || isLate) return rows;
  }
}

function isQuiet(row: Row): boolean {
  return disturbancesOf(row, row.load).length === 0;
}
