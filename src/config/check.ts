/**
 * Every fault of a configuration with its line, or what is valid in it but perhaps not meant: for `floodwall check`, and in
 * the same words for the log of the service.
 */
import type { Config } from "./config.ts";
import type { EnvLines } from "./env-lines.ts";
import { type LoadedConfig, loadConfig } from "./load.ts";
import { describeProblem } from "./problem.ts";
import type { ReadVariable } from "./secrets.ts";
import type { Finding } from "./shape.ts";
import { configWarnings } from "./warnings.ts";

export interface CheckEnvironment {
  readonly read: ReadVariable;
  /** Of `api.env_file`. */
  readonly readFile: (path: string) => EnvLines;
  /** What is wrong with other files that the configuration names; absent: they are not looked at. */
  readonly fileFindings?: (config: Config) => readonly Finding[];
}

export interface CheckReport {
  readonly lines: readonly string[];
  /** 1 when the service would not start with this file; warnings alone are 0. */
  readonly exitCode: 0 | 1;
}

export type CheckedConfig =
  | { readonly kind: "valid"; readonly config: Config; readonly warnings: readonly string[] }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

export function checkConfig(path: string, environment: CheckEnvironment): CheckReport {
  const checked = readChecked(path, environment);
  if (checked.kind === "valid") return { lines: [...checked.warnings, `${path}: valid`], exitCode: 0 };
  const count = checked.problems.length;
  const summary = `${path}: ${count} ${count === 1 ? "error" : "errors"}`;
  return { lines: [...checked.problems, summary], exitCode: 1 };
}

export function readChecked(path: string, environment: CheckEnvironment): CheckedConfig {
  const loaded = loadConfig(path);
  if (loaded.kind === "invalid") {
    return { kind: "invalid", problems: loaded.problems.map((problem) => describeProblem(path, problem)) };
  }
  const faults = fileProblems(path, loaded, environment.fileFindings);
  if (faults.length > 0) return { kind: "invalid", problems: faults };
  const { read, findings } = withEnvFile(loaded.config.api.envFile, environment);
  return { kind: "valid", config: loaded.config, warnings: warningLines(path, loaded, read, findings) };
}

export function fileProblems(
  path: string,
  { config, lineOf }: Extract<LoadedConfig, { kind: "valid" }>,
  fileFindings: CheckEnvironment["fileFindings"],
): string[] {
  return (fileFindings?.(config) ?? []).map((finding) =>
    describeProblem(path, { ...finding, line: lineOf(finding.path) }),
  );
}

/** @param findings of the caller, to stand among the others. */
export function warningLines(
  path: string,
  { config, lineOf }: Extract<LoadedConfig, { kind: "valid" }>,
  read: ReadVariable,
  findings: readonly Finding[] = [],
): string[] {
  return [...findings, ...configWarnings(config, read)]
    .map((finding) => ({ ...finding, line: lineOf(finding.path) }))
    .sort((a, b) => a.line - b.line)
    .map((warning) => describeProblem(path, { ...warning, rule: `warning: ${warning.rule}` }));
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
