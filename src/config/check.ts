/** `floodwall check CONFIG`: every fault with its line, then what is valid but perhaps not meant. */
import type { EnvLines } from "./env-lines.ts";
import { loadConfig } from "./load.ts";
import { describeProblem } from "./problem.ts";
import type { ReadVariable } from "./secrets.ts";
import type { Finding } from "./shape.ts";
import { configWarnings } from "./warnings.ts";

export interface CheckEnvironment {
  readonly read: ReadVariable;
  /** Of `api.env_file`. */
  readFile(path: string): EnvLines;
}

export interface CheckReport {
  readonly lines: readonly string[];
  /** 1 when the service would not start with this file; warnings alone are 0. */
  readonly exitCode: 0 | 1;
}

export function checkConfig(path: string, environment: CheckEnvironment): CheckReport {
  const loaded = loadConfig(path);
  if (loaded.kind === "invalid") {
    const count = loaded.problems.length;
    const summary = `${path}: ${count} ${count === 1 ? "error" : "errors"}`;
    return { lines: [...loaded.problems.map((problem) => describeProblem(path, problem)), summary], exitCode: 1 };
  }
  const { read, findings } = withEnvFile(loaded.config.api.envFile, environment);
  const warnings = [...findings, ...configWarnings(loaded.config, read)]
    .map((finding) => ({ ...finding, line: loaded.lineOf(finding.path) }))
    .sort((a, b) => a.line - b.line)
    .map((warning) => describeProblem(path, { ...warning, rule: `warning: ${warning.rule}` }));
  return { lines: [...warnings, `${path}: valid`], exitCode: 0 };
}

/** Variables as the service would see them: what the file has counts before what is set here. */
function withEnvFile(
  path: string | null,
  { read, readFile }: CheckEnvironment,
): { read: ReadVariable; findings: readonly Finding[] } {
  if (path === null) return { read, findings: [] };
  const lines = readFile(path);
  if (lines.kind === "variables") return { read: (name) => lines.variables.get(name) ?? read(name), findings: [] };
  return {
    read,
    findings: lines.problems.map((problem) => ({ path: ["api", "env_file"], rule: `${path}: ${problem}` })),
  };
}
