/** `floodwall check CONFIG`: every fault with its line, then what is valid but perhaps not meant. */
import { loadConfig } from "./load.ts";
import { describeProblem } from "./problem.ts";
import type { ReadVariable } from "./secrets.ts";
import { configWarnings } from "./warnings.ts";

export interface CheckReport {
  readonly lines: readonly string[];
  /** 1 when the service would not start with this file; warnings alone are 0. */
  readonly exitCode: 0 | 1;
}

export function checkConfig(path: string, read: ReadVariable): CheckReport {
  const loaded = loadConfig(path);
  if (loaded.kind === "invalid") {
    const count = loaded.problems.length;
    const summary = `${path}: ${count} ${count === 1 ? "error" : "errors"}`;
    return { lines: [...loaded.problems.map((problem) => describeProblem(path, problem)), summary], exitCode: 1 };
  }
  const warnings = configWarnings(loaded.config, read)
    .map((finding) => ({ ...finding, line: loaded.lineOf(finding.path) }))
    .sort((a, b) => a.line - b.line)
    .map((warning) => describeProblem(path, { ...warning, rule: `warning: ${warning.rule}` }));
  return { lines: [...warnings, `${path}: valid`], exitCode: 0 };
}
