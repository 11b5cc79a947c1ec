/** The result of a bench: our figure and a rival's, both measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly runs: number;
  /** In the order of the runs. */
  readonly values: readonly number[];
  /** For a distribution. */
  readonly tail?: { readonly p90: number; readonly p99: number };
}

export interface Measurement {
  readonly question: string;
  readonly unit: string;
  readonly ours: Figure;
  /** The alternative that a user would choose; null if there are no figures for one. */
  readonly rival: Figure | null;
  /** Ours divided by the rival's, run by run; absent if they did not run in turn. */
  readonly ratio?: Figure;
  /** The faster of both, as a share of what the traffic source sends to a sink that does nothing: 0 to 1. */
  readonly sourceShare?: number;
  /** The target of the design as text, or "none set", and whether this run met it. */
  readonly target: string;
  readonly isMet: boolean;
  /** The figure does not depend on the speed of the machine: memory, instructions, lost packets. */
  readonly isExact?: boolean;
  /** Text below the table. */
  readonly details?: readonly string[];
}

export interface RunOptions {
  /** A short trial run, if the bench supports it. */
  readonly isQuick: boolean;
}

/**
 * A bench is a file that answers one question; if it cannot measure something, it returns the reason instead of a
 * figure. Each run returns the same rows in the same order.
 */
export interface Bench {
  readonly question: string;
  run(options: RunOptions): Promise<readonly Measurement[] | { readonly skipped: string }>;
}

export interface Comparison {
  readonly question: string;
  readonly unit: string;
  /** In turn: the n-th run of ours directly before or after the n-th run of the rival. */
  readonly ours: Figure;
  readonly rival: Figure;
  /** The least ratio of ours to the rival's that the design allows; null: it sets none. */
  readonly ratioMin: number | null;
  /**
   * The rate of the traffic source into a sink that does nothing, run by run. Absent if the source and the sink use the
   * same CPU in turn: a slower sink always shows there.
   */
  readonly sourceAlone?: Figure;
  readonly details?: readonly string[];
}

/** Machines drift, so that only neighboring runs are compared: the median of their ratios is judged. */
export function compared({ ratioMin, sourceAlone, ...row }: Comparison): Measurement {
  const ratio = ratioOf(row.ours, row.rival);
  const fastest = row.ours.values.map((value, run) => Math.max(value, row.rival.values[run] ?? 0));
  return {
    ...row,
    ratio,
    ...(sourceAlone !== undefined && { sourceShare: ratioOf(figure("the faster", fastest), sourceAlone).median }),
    target: ratioMin === null ? "none set" : `≥ ${ratioMin} ×`,
    isMet: ratioMin === null || ratio.median >= ratioMin,
  };
}

/** Run by run. */
function ratioOf(ours: Figure, rival: Figure): Figure {
  if (ours.runs !== rival.runs) throw new Error(`${ours.name} ran ${ours.runs} times, ${rival.name} ${rival.runs}`);
  const values = ours.values.map((value, run) => value / (rival.values[run] ?? Number.NaN));
  return figure(`${ours.name} / ${rival.name}`, values);
}

export function figure(name: string, values: readonly number[]): Figure {
  if (values.length === 0) throw new Error(`${name}: nothing was measured`);
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
  return { name, median: at(0.5), least: at(0), most: at(1), runs: values.length, values };
}

/** A figure with the spread of its values. */
export function distribution(name: string, values: readonly number[]): Figure {
  return { ...figure(name, values), tail: { p90: percentile(values, 0.9), p99: percentile(values, 0.99) } };
}

/** For a few dozen values this is nearly the largest. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
