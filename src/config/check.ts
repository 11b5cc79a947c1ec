/**
 * Lists the errors of a configuration with their lines, and its warnings: for `floodwall check`, and in the same words
 * for the log of the service.
 */
import { type ConfigPath, type ConfigProblem, describeProblem, pathText } from "../schema/problem.ts";
import type { Finding } from "../schema/shape.ts";
import type { ScrubAgentConfig } from "../scrub/agent/agent-config.ts";
import type { EnvLines } from "../system/env-lines.ts";
import { ownText } from "../traffic/own-infrastructure.ts";
import type { Config } from "./config.ts";
import { readSettings, settingsLines, settingsPath } from "./group-settings.ts";
import type { Place } from "./load/assemble.ts";
import { inOrder, type LoadedConfig, loadConfig, parseRead } from "./load/load.ts";
import { type ReadConfigFile, readConfigFile } from "./load/read-file.ts";
import type { ReadVariable } from "./load/secrets.ts";
import { isScrubAgentFile, loadScrubAgent, scrubAgentWarnings } from "./scrub-agent-config.ts";
import { configWarnings } from "./warnings/warnings.ts";
import { zonesAlone } from "./zones/alone.ts";
import { zonesWarnings } from "./zones/warnings.ts";

interface CheckEnvironment {
  readonly read: ReadVariable;
  /** Reads the file of `api.env_file`. */
  readonly readFile: (path: string) => EnvLines;
  /** Findings in other files that the configuration names; absent: these files are not read. */
  readonly fileFindings?: (config: Config) => readonly Finding[];
  /** As these, but warnings alone. */
  readonly fileWarnings?: (config: Config) => readonly Finding[];
  /** The same of a scrub node. */
  readonly nodeFileFindings?: (config: ScrubAgentConfig) => readonly Finding[];
}

export interface CheckReport {
  readonly lines: readonly string[];
  /** 1 if the file or one that it names has errors, with which the service would not start or start without it; warnings alone give 0. */
  readonly exitCode: 0 | 1;
  /** The checked file; null if it has errors. */
  readonly checked: CheckedRole | null;
}

/** A file of the service, or one of a scrub node. */
export type CheckedRole =
  | { readonly role: "service"; readonly config: Config }
  | { readonly role: "scrub"; readonly config: ScrubAgentConfig };

export type CheckedConfig =
  | { readonly kind: "valid"; readonly config: Config; readonly warnings: readonly string[] }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** A file of the service, or one of a scrub node. */
export function checkConfig(path: string, environment: CheckEnvironment): CheckReport {
  const read = readConfigFile(path);
  if (read.kind === "bytes" && isScrubAgentFile(read.bytes)) {
    const node = checkedNode(path, read, environment);
    return report(path, node, node.kind === "valid" ? { role: "scrub", config: node.config } : null);
  }
  const alone = read.kind === "bytes" ? zonesAlone(read.bytes) : null;
  if (alone !== null) return zonesReport(path, alone);
  const service = checkedService(path, parseRead(read, path), environment);
  return report(path, service, service.kind === "valid" ? { role: "service", config: service.config } : null);
}

function zonesReport(path: string, problems: readonly ConfigProblem[]): CheckReport {
  const lines = problems.map((problem) => describeProblem(path, problem));
  const summary = lines.length === 0 ? "valid, as a zones file alone" : `${lines.length} errors, as a zones file alone`;
  return { lines: [...lines, `${path}: ${summary}`], exitCode: lines.length === 0 ? 0 : 1, checked: null };
}

function report(path: string, found: CheckedConfig | CheckedNode, checked: CheckedRole | null): CheckReport {
  if (found.kind === "valid") {
    const protection =
      checked?.role === "service" ? [...protectionLines(path, checked.config), ...settingLines(checked.config)] : [];
    return { lines: [...found.warnings, ...protection, `${path}: valid`], exitCode: 0, checked };
  }
  const count = found.problems.length;
  const summary = `${path}: ${count} ${count === 1 ? "error" : "errors"}`;
  return { lines: [...found.problems, summary], exitCode: 1, checked };
}

/** The service's own addresses inside `networks`; empty: there are none. */
function protectionLines(path: string, config: Config): string[] {
  const own = config.own.addresses().filter(({ prefix }) => config.lookup.holds(prefix.address));
  if (own.length === 0) return [];
  const named = own.map((one) => `${ownText(one)} (${pathText(one.path)})`);
  return [`${path}: never banned, as own infrastructure inside networks: ${named.join(", ")}`];
}

function settingLines({ stateDir, hostgroups }: Config): string[] {
  const names = new Set(hostgroups.map(({ name }) => name));
  const path = settingsPath(stateDir);
  return settingsLines(path, readSettings(path) ?? {}, names);
}

export function readChecked(path: string, environment: CheckEnvironment, settings?: string): CheckedConfig {
  return checkedService(path, loadConfig(path, settings), environment);
}

function checkedService(path: string, loaded: LoadedConfig, environment: CheckEnvironment): CheckedConfig {
  if (loaded.kind === "invalid") {
    return { kind: "invalid", problems: loaded.problems.map((problem) => describeProblem(path, problem)) };
  }
  const faults = fileProblems(path, loaded.placeOf, environment.fileFindings?.(loaded.config));
  if (faults.length > 0) return { kind: "invalid", problems: faults };
  const { read, findings } = withEnvFile(loaded.config.api.envFile, environment);
  const found = [...findings, ...(environment.fileWarnings?.(loaded.config) ?? [])];
  return { kind: "valid", config: loaded.config, warnings: warningLines(path, loaded, read, found) };
}

type CheckedNode =
  | (Omit<Extract<CheckedConfig, { kind: "valid" }>, "config"> & { readonly config: ScrubAgentConfig })
  | Extract<CheckedConfig, { kind: "invalid" }>;

function checkedNode(path: string, file: ReadConfigFile, environment: CheckEnvironment): CheckedNode {
  const loaded = loadScrubAgent(file);
  if (loaded.kind === "invalid") {
    return { kind: "invalid", problems: loaded.problems.map((problem) => describeProblem(path, problem)) };
  }
  const placeOf = linePlace(loaded.lineOf);
  const faults = fileProblems(path, placeOf, environment.nodeFileFindings?.(loaded.config));
  if (faults.length > 0) return { kind: "invalid", problems: faults };
  const { read, findings } = withEnvFile(loaded.config.envFile, environment, ["env_file"]);
  const found = [...findings, ...scrubAgentWarnings(loaded.config, read)];
  return { kind: "valid", config: loaded.config, warnings: warnedLines(path, placeOf, found) };
}

/** @param findings in the files that it names. */
function fileProblems(path: string, placeOf: (path: ConfigPath) => Place, findings: readonly Finding[] = []): string[] {
  return findings.map((finding) => describeProblem(path, { ...placeOf(finding.path), rule: finding.rule }));
}

/** For a file that has no parts. */
function linePlace(lineOf: (path: ConfigPath) => number): (path: ConfigPath) => Place {
  return (path) => ({ line: lineOf(path), path });
}

/** @param findings additional findings of the caller. */
export function warningLines(
  path: string,
  { config, placeOf, zonesFile }: Extract<LoadedConfig, { kind: "valid" }>,
  read: ReadVariable,
  findings: readonly Finding[] = [],
): string[] {
  const lines = warnedLines(path, placeOf, [...findings, ...configWarnings(config, read)]);
  if (zonesFile === null || config.edge === null) return lines;
  const zones = [...zonesWarnings(config.edge, (zone) => zonesFile.positions.get(zone) ?? 0)];
  return [...lines, ...warnedLines(zonesFile.path, linePlace(zonesFile.lineOf), zones)];
}

function warnedLines(path: string, placeOf: (path: ConfigPath) => Place, findings: readonly Finding[]): string[] {
  return findings
    .map((finding) => ({ ...placeOf(finding.path), rule: finding.rule }))
    .sort(inOrder)
    .map((warning) => describeProblem(path, { ...warning, rule: `warning: ${warning.rule}` }));
}

/** Variables as the service would read them: the env file takes precedence over the environment here. */
function withEnvFile(
  path: string | null,
  { read, readFile }: CheckEnvironment,
  at: ConfigPath = ["api", "env_file"],
): { read: ReadVariable; findings: readonly Finding[] } {
  if (path === null) return { read, findings: [] };
  const lines = readFile(path);
  if (lines.kind === "variables") return { read: (name) => lines.variables.get(name) ?? read(name), findings: [] };
  return {
    read,
    findings: lines.problems.map((problem) => ({ path: at, rule: `${path}: ${problem}` })),
  };
}
