/** An error in a file that a person wrote, and its location. */

/** Keys and list indexes from the top of the file. */
export type ConfigPath = readonly (string | number)[];

export interface ConfigProblem {
  /** Set if the problem is in another file, which the read file names. */
  readonly file?: string;
  /** Starts at 1; null if the file could not be read. */
  readonly line: number | null;
  readonly path: ConfigPath;
  /** The violated rule, and what to do. */
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
