/** Results of steps on fresh systems and other kernels as a table, and what of a step's output is worth a line in it. */
import { textTable } from "../text-table.ts";

export interface Row {
  /** Of Debian, or the release of a kernel. */
  readonly suite: string;
  /** Of the system: its kernel, the tree that is built there, or the package that is installed. */
  readonly part: string;
  readonly step: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly remark: string;
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

export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ suite, part, step, ok, seconds, remark }) => {
    return [suite, part, step, ok ? "ok" : "FAILED", seconds.toFixed(1), remark];
  });
  return textTable([["suite", "system", "step", "result", "seconds", "remarks"], ...cells], (column) => column === 4);
}
