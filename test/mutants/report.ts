/** What a run of mutants has shown: a table by folder, the survivors, and how it compares with an earlier run. */
import { dirname } from "node:path";
import { textTable } from "../text-table.ts";
import type { MutantResult, Outcome } from "./mutant-run.ts";

/** The result file. */
export interface Report {
  readonly seed: number;
  readonly count: number;
  readonly only: string;
  /** False when it was stopped before its end. */
  readonly isComplete: boolean;
  /** Tests that were left out, since they fail without a mutant too. */
  readonly failingTests: readonly string[];
  readonly mutants: readonly MutantResult[];
}

const OUTCOMES: readonly Outcome[] = ["killed", "timed out", "survived", "not covered"];

export function tableOf(mutants: readonly MutantResult[]): string {
  const folders = Map.groupBy(mutants, ({ path }) => dirname(path));
  const rows = [...folders].sort(([a], [b]) => (a < b ? -1 : 1)).map(([folder, own]) => rowOf(folder, own));
  const heads = ["folder", "mutants", ...OUTCOMES, "noticed"];
  return textTable([heads, ...rows, rowOf("all", mutants)], (column) => column > 0);
}

function rowOf(name: string, mutants: readonly MutantResult[]): string[] {
  const counts = OUTCOMES.map((outcome) => mutants.filter((each) => each.outcome === outcome).length);
  return [name, String(mutants.length), ...counts.map(String), percent(mutants)];
}

function isNoticed({ outcome }: MutantResult): boolean {
  return outcome === "killed" || outcome === "timed out";
}

function percent(mutants: readonly MutantResult[]): string {
  if (mutants.length === 0) return "-";
  return `${((100 * mutants.filter(isNoticed).length) / mutants.length).toFixed(1)} %`;
}

export function survivorsOf(mutants: readonly MutantResult[]): string {
  return mutants
    .filter((mutant) => !isNoticed(mutant))
    .toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
    .map(({ path, line, outcome, kind, original, mutated }) => {
      return `${path}:${line}: ${outcome} (${kind})\n  - ${original}\n  + ${mutated}`;
    })
    .join("\n");
}

/** Of the mutants that both runs have tried: how many each noticed, and which of them only the earlier one did. */
export function comparisonOf(now: readonly MutantResult[], before: readonly MutantResult[]): string {
  const earlier = new Map(before.map((mutant) => [mutant.id, mutant]));
  const common = now.filter(({ id }) => earlier.has(id));
  const commonBefore = common.map(({ id }) => earlier.get(id) as MutantResult);
  const lost = common.filter((mutant, i) => !isNoticed(mutant) && isNoticed(commonBefore[i] as MutantResult));
  return [
    `before: ${percent(before)} of ${before.length} noticed; now: ${percent(now)} of ${now.length}`,
    `of the ${common.length} mutants in both: before ${percent(commonBefore)}, now ${percent(common)}`,
    ...(lost.length === 0 ? [] : [`noticed before, and not now: ${lost.length}`, survivorsOf(lost)]),
  ].join("\n");
}
