/**
 * Loads a configuration file: returns a frozen Config, or all its errors. Changes nothing else, so that a reload can
 * load first and switch afterwards.
 */
import { isUtf8 } from "node:buffer";
import { existsSync, readdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Static, TSchema } from "@sinclair/typebox";
import type { Zone } from "../../edge/zones/zone.ts";

import { type ConfigPath, type ConfigProblem, describeProblem } from "../../schema/problem.ts";
import { type Finding, type Pruned, takeShape } from "../../schema/shape.ts";
import type { Config } from "../config.ts";
import { builtFindings, crossFieldFindings } from "../rules/rules.ts";
import { ConfigFile } from "../sections/schema.ts";
import { buildZones, ZonesFile } from "../zones/file.ts";
import { zonesFindings } from "../zones/rules.ts";
import { assemble, type ConfigFiles, type Place, type Surroundings } from "./assemble.ts";
import { buildConfig } from "./build.ts";
import { CONFIG_BYTES_MAX, type InvalidFile, type ReadConfigFile, readConfigFile } from "./read-file.ts";
import { readYaml } from "./yaml-document.ts";

export type LoadedConfig =
  | {
      readonly kind: "valid";
      readonly config: Config;
      readonly placeOf: (path: ConfigPath) => Place;
      /** null: no zones file was read. */
      readonly zonesFile: LoadedZonesFile | null;
    }
  | InvalidFile;

type Invalid = InvalidFile;

interface LoadedZonesFile {
  readonly path: string;
  readonly lineOf: (path: ConfigPath) => number;
  /** Position of each zone in the file. */
  readonly positions: ReadonlyMap<string, number>;
}

/** For callers that report errors by throwing: the message has one line for each. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export function loadConfigOrThrow(path: string): Config {
  const loaded = loadConfig(path);
  if (loaded.kind === "valid") return loaded.config;
  throw new ConfigError(loaded.problems.map((problem) => describeProblem(path, problem)).join("\n"));
}

/** @param settings the file of settings by the API; absent: that of the file's `state_dir`. */
export function loadConfig(path: string, settings?: string): LoadedConfig {
  return parseRead(readConfigFile(path), path, settings);
}

/** Also loads the files that it names. */
export function parseRead(read: ReadConfigFile, path: string, settings?: string): LoadedConfig {
  return read.kind === "bytes" ? parseConfig(read.bytes, readConfigFile, around(path, settings)) : read;
}

export function around(path: string, settings?: string): Surroundings {
  return { directory: dirname(resolve(path)), files: DISK, ...(settings !== undefined && { settings }) };
}

const DISK: ConfigFiles = { read: readConfigFile, list: (directory) => readdirSync(directory), exists: existsSync };

/**
 * @param readZones reads the zones file; absent: it is not read, and there are no zones.
 * @param surroundings where the file stands; null: it may name no parts of itself.
 */
export function parseConfig(
  bytes: Uint8Array,
  readZones?: (path: string) => ReadConfigFile,
  surroundings: Surroundings | null = null,
): LoadedConfig {
  const parsed = parseFile(bytes, SERVICE_FILE, surroundings);
  const rest = parsed.kind === "valid" ? parsed : parsed.rest;
  // Also if this file has errors, so that the errors of both are reported at once.
  const parsedZones = rest === null || readZones === undefined ? NO_ZONES : parseZones(rest, readZones);
  if (parsed.kind === "invalid" || parsedZones.kind === "invalid") {
    return { kind: "invalid", problems: [...problemsOf(parsed), ...problemsOf(parsedZones)] };
  }
  const { zones, zonesFile } = parsedZones;
  const config = buildConfig(parsed.file, zones);
  const findings = [...builtFindings(config)];
  if (findings.length === 0) return { kind: "valid", config, placeOf: parsed.placeOf, zonesFile };
  const problems = findings.map(({ path, rule }) => ({ ...parsed.placeOf(path), rule }));
  return { kind: "invalid", problems };
}

type ParsedZones =
  | { readonly kind: "valid"; readonly zones: readonly Zone[]; readonly zonesFile: LoadedZonesFile | null }
  | Invalid;

const NO_ZONES: ParsedZones = { kind: "valid", zones: [], zonesFile: null };

function parseZones({ file, placeOf }: FileRest<ConfigFile>, readZones: (path: string) => ReadConfigFile): ParsedZones {
  const path = file.edge?.zones_file;
  if (path === undefined) return NO_ZONES;
  const read = readZones(path);
  if (read.kind === "invalid") {
    const at = ["edge", "zones_file"];
    const rules = read.problems.map(({ rule }) => ({ ...placeOf(at), rule: `${path} ${rule}` }));
    return { kind: "invalid", problems: rules };
  }
  const hostgroups = hostgroupNames(file);
  const parsed = parseFile(read.bytes, {
    schema: ZonesFile,
    bytesMax: CONFIG_BYTES_MAX,
    crossFieldFindings: (zones) => zonesFindings(zones, hostgroups),
    required: "zones",
  });
  if (parsed.kind === "invalid") {
    return { kind: "invalid", problems: parsed.problems.map((problem) => ({ ...problem, file: path })) };
  }
  const positions = new Map(parsed.file.zones.map(({ name }, i) => [name.toLowerCase(), i]));
  return { kind: "valid", zones: buildZones(parsed.file), zonesFile: { path, lineOf: parsed.lineOf, positions } };
}

/** null: some could not be read. */
function hostgroupNames({ hostgroups }: Pruned<ConfigFile>): ReadonlySet<string> | null {
  const names = (hostgroups ?? [undefined]).map((group) => group?.name);
  return names.includes(undefined) ? null : new Set(["global", ...names.filter((name) => name !== undefined)]);
}

function problemsOf(parsed: { readonly kind: "valid" } | Invalid): readonly ConfigProblem[] {
  return parsed.kind === "valid" ? [] : parsed.problems;
}

/** The parts in which the kinds of files differ. */
export interface FileForm<Schema extends TSchema> {
  readonly schema: Schema;
  readonly bytesMax: number;
  readonly crossFieldFindings: (file: Pruned<Static<Schema>>) => Iterable<Finding>;
  /** Named in the error for an empty file. */
  readonly required: string;
}

type ParsedFile<File> =
  | {
      readonly kind: "valid";
      readonly file: File;
      readonly lineOf: (path: ConfigPath) => number;
      readonly placeOf: (path: ConfigPath) => Place;
    }
  | (Invalid & { readonly rest: FileRest<File> | null });

/** The valid part of a file with errors; null if nothing could be read. */
interface FileRest<File> {
  readonly file: Pruned<File>;
  readonly placeOf: (path: ConfigPath) => Place;
}

const SERVICE_FILE: FileForm<typeof ConfigFile> = {
  schema: ConfigFile,
  bytesMax: CONFIG_BYTES_MAX,
  crossFieldFindings,
  required: "networks and thresholds",
};

export function parseFile<Schema extends TSchema>(
  bytes: Uint8Array,
  { schema, bytesMax, crossFieldFindings: findingsOf, required }: FileForm<Schema>,
  surroundings: Surroundings | null = null,
): ParsedFile<Static<Schema>> {
  if (bytes.length > bytesMax) return invalidAt(1, `larger than ${bytesMax} bytes`);
  const badLine = lineThatIsNotUtf8(bytes);
  if (badLine !== null) return invalidAt(badLine, "not UTF-8: save the file in that encoding");

  const document = readYaml(new TextDecoder().decode(bytes));
  if (document.value === undefined) return { kind: "invalid", problems: document.problems, rest: null };
  if (document.value === null) return invalidAt(1, `is empty: at least ${required} are required`);
  if (typeof document.value !== "object" || Array.isArray(document.value)) {
    return invalidAt(document.lineOf([]), `must be a mapping of keys, such as \`${/\w+/.exec(required)?.[0]}:\``);
  }

  const whole = assemble(document, document.value as Record<string, unknown>, surroundings);
  const { placeOf } = whole;
  const { file, findings } = takeShape(schema, whole.value);
  const found = [...findings, ...findingsOf(file)].map(({ path, rule }) => ({ ...placeOf(path), rule }));
  const problems = [...document.problems, ...whole.problems, ...found].sort(inOrder);
  if (problems.length > 0) return { kind: "invalid", problems, rest: { file, placeOf } };
  // Without findings nothing was removed, so the file is complete.
  return { kind: "valid", file: file as Static<Schema>, placeOf, lineOf: (path) => document.lineOf(path) };
}

function invalidAt(line: number, rule: string): Extract<ParsedFile<never>, { kind: "invalid" }> {
  return { kind: "invalid", problems: [{ line, path: [], rule }], rest: null };
}

/** Problems of the file itself first, then of each that it names. */
export function inOrder(a: ConfigProblem, b: ConfigProblem): number {
  const [one, other] = [a.file ?? "", b.file ?? ""];
  return one === other ? (a.line ?? 0) - (b.line ?? 0) : one < other ? -1 : 1;
}

/** null if all lines are valid. A line break is one byte in UTF-8 and never part of another character. */
function lineThatIsNotUtf8(bytes: Uint8Array): number | null {
  if (isUtf8(bytes)) return null;
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline < 0 ? bytes.length : newline;
    if (!isUtf8(bytes.subarray(start, end))) return line;
    start = end + 1;
  }
  return line;
}
