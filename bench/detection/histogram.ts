/** A distribution as text: values by size in steps of a fixed ratio, with the series side by side. */

export interface Series {
  readonly name: string;
  readonly values: readonly number[];
}

/** A step is 19 % wide: a level's few dozen values fill a handful. */
const STEPS_IN_A_DOUBLING = 4;

/** Lines from the step of the smallest value to that of the largest; consecutive empty steps share a line. */
export function histogram(series: readonly Series[]): string[] {
  const counts = series.map(({ values }) => countBySteps(values));
  const steps = counts.flatMap((count) => [...count.keys()]);
  const [first, last] = [Math.min(...steps), Math.max(...steps)];
  const width = Math.max(...series.flatMap(({ name }, i) => [name.length, ...(counts[i]?.values() ?? [])])) + 6;
  const lines = [`${"".padStart(15)}  ${series.map(({ name }) => name.padEnd(width)).join("")}`.trimEnd()];
  for (let step = first; step <= last; step++) {
    const cells = counts.map((count) => bar(count.get(step) ?? 0));
    const isEmpty = cells.every((cell) => cell === "");
    if (isEmpty && lines.at(-1) === GAP) continue;
    const range = `${from(step)} – ${from(step + 1)}`.padStart(15);
    lines.push(isEmpty ? GAP : `${range}  ${cells.map((cell) => cell.padEnd(width)).join("")}`.trimEnd());
  }
  return lines;
}

const GAP = "…".padStart(15);

function countBySteps(values: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const value of values) {
    const step = Math.floor(Math.log2(Math.max(value, 1)) * STEPS_IN_A_DOUBLING);
    counts.set(step, (counts.get(step) ?? 0) + 1);
  }
  return counts;
}

function bar(count: number): string {
  return count === 0 ? "" : `${"█".repeat(count)} ${count}`;
}

function from(step: number): string {
  return Math.round(2 ** (step / STEPS_IN_A_DOUBLING)).toLocaleString("en-US");
}
