/** Judges a row: its target is met, or missed, or the figure says nothing because something else was measured. */
import type { Load } from "./machine-load.ts";
import type { Measurement } from "./measurement.ts";

const STOLEN_MAX = 0.02;
const OTHERS_MAX = 0.1;
/** The largest ratio of neighboring runs, divided by the smallest. */
const SPREAD_MAX = 1.5;
/** A sink that takes so much of what the source sends alone may be able to take more. */
const SOURCE_SHARE_MAX = 0.95;

export interface Verdict {
  /** Empty: there is no target. */
  readonly word: "met" | "SHORT" | "not measured" | "";
  /** Why it was not measured. */
  readonly reasons: readonly string[];
}

export function verdictOf(row: Measurement, load: Load): Verdict {
  const reasons = [...disturbancesOf(row, load), ...sourceLimitOf(row)];
  if (reasons.length > 0) return { word: "not measured", reasons };
  if (row.target === "none set") return { word: "", reasons };
  return { word: row.isMet ? "met" : "SHORT", reasons };
}

/** Why another run of the same bench may be better. */
export function disturbancesOf({ isExact = false, ratio }: Measurement, { stolen, others }: Load): string[] {
  const reasons: string[] = [];
  if (isExact) return reasons;
  if (stolen > STOLEN_MAX) reasons.push(`the hypervisor took ${percent(stolen)} of the CPU time`);
  if (others > OTHERS_MAX) reasons.push(`other processes took ${percent(others)} of the CPU time`);
  const spread = ratio === undefined ? 1 : ratio.most / ratio.least;
  if (!(spread <= SPREAD_MAX)) reasons.push(`the ratios of the runs differ by ${spread.toFixed(2)} ×`);
  return reasons;
}

function sourceLimitOf({ sourceShare = 0 }: Measurement): string[] {
  if (sourceShare < SOURCE_SHARE_MAX) return [];
  return [`the traffic source was the limit (${percent(sourceShare)} of what it sends alone)`];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
