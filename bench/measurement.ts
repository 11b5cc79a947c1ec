/** The result of a bench: our figure and a rival's, both measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly runs: number;
  /** For a distribution: its tail, and all values. */
  readonly tail?: { readonly p90: number; readonly p99: number; readonly values: readonly number[] };
}

export interface Measurement {
  readonly question: string;
  readonly unit: string;
  readonly ours: Figure;
  /** The alternative that a user would choose; null if there are no figures for one. */
  readonly rival: Figure | null;
  /** The target of the design as text, and whether this run met it. */
  readonly target: string;
  readonly isMet: boolean;
  /** Text below the table. */
  readonly details?: readonly string[];
}

export interface RunOptions {
  /** A short trial run, if the bench supports it. */
  readonly isQuick: boolean;
}

/**
 * A bench is a file that answers one question; if it cannot measure something, it returns the reason instead of a
 * figure.
 */
export interface Bench {
  readonly question: string;
  run(options: RunOptions): Promise<readonly Measurement[] | { readonly skipped: string }>;
}

export function figure(name: string, values: readonly number[]): Figure {
  if (values.length === 0) throw new Error(`${name}: nothing was measured`);
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
  return { name, median: at(0.5), least: at(0), most: at(1), runs: values.length };
}

/** A figure with the spread of its values. */
export function distribution(name: string, values: readonly number[]): Figure {
  const tail = { p90: percentile(values, 0.9), p99: percentile(values, 0.99), values };
  return { ...figure(name, values), tail };
}

/** For a few dozen values this is nearly the largest. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
