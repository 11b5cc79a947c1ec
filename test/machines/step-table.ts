/** Results of steps on fresh systems and other kernels as a table, and what of a step's output is worth a line in it. */

export interface StepResult {
  /** Of Debian, or the release of a kernel. */
  readonly suite: string;
  /** Of the system: its kernel, the tree that is built there, or the package that is installed. */
  readonly part: string;
  readonly step: string;
  readonly ok: boolean;
  readonly seconds: number;
  /** Where its output is. */
  readonly log: string;
}

/** What a step says of itself: counts of a test run, versions of tools, what was skipped because the release lacks it. */
export function remarkOf(output: string): string {
  const counts = /^\d+ passed.*, \d+ failed, \d+ skipped$/m.exec(output)?.[0];
  // A test run says them too, on its way.
  const versions = counts === undefined ? /^Linux \d.*$/m.exec(output)?.[0] : undefined;
  const program = /^floodwall \d\S*$/m.exec(output)?.[0];
  const lacking = [...output.matchAll(/^this release of Debian has no ([^\s:]+)/gm)].map(([, name]) => `no ${name}`);
  return [counts, versions, program, ...lacking].filter((text) => text !== undefined).join("; ");
}

export interface Row extends Omit<StepResult, "log"> {
  readonly remark: string;
}

/** Lines of equal columns, the headings first. */
export function tableOf(rows: readonly Row[]): string[] {
  const cells = rows.map(({ suite, part, step, ok, seconds, remark }) => [
    suite,
    part,
    step,
    ok ? "ok" : "FAILED",
    seconds.toFixed(1),
    remark,
  ]);
  const all = [["suite", "system", "step", "result", "seconds", "remarks"], ...cells];
  const widths = all[0]?.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0))) ?? [];
  return all.map((row) =>
    row
      .map((cell, i) => (i === 4 ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
