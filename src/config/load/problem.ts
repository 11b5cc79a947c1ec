/** What is wrong in a configuration file, and where: what a loader finds before it gives up. */

/** Keys and list positions from the top of the file. */
export type ConfigPath = readonly (string | number)[];

export interface ConfigProblem {
  /** Another file than the one that was to be read, which names it. */
  readonly file?: string;
  /** Counted from 1; null where the file could not be read at all. */
  readonly line: number | null;
  readonly path: ConfigPath;
  /** The rule that is broken, and what to do. */
  readonly rule: string;
}

/** `file:line: path: rule` */
export function describeProblem(read: string, { file = read, line, path, rule }: ConfigProblem): string {
  const place = line === null ? file : `${file}:${line}`;
  return path.length === 0 ? `${place}: ${rule}` : `${place}: ${pathText(path)}: ${rule}`;
}

/** `hostgroups[2].thresholds.pps` */
export function pathText(path: ConfigPath): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .replace(/^\./, "");
}
