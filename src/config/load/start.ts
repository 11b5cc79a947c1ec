/**
 * Loads the configuration for a start, which depends neither on the zones file nor on what the API set for hostgroups: both
 * may have become invalid beside a changed file, and a service that does not start protects nothing.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Zone } from "../../edge/zones/zone.ts";
import type { ConfigProblem } from "../../schema/problem.ts";
import { SETTINGS_FILE } from "../group-settings.ts";
import type { Surroundings } from "./assemble.ts";
import { deepFreeze } from "./build.ts";
import { around, type LoadedConfig, parseConfig, parseRead } from "./load.ts";
import { readConfigFile } from "./read-file.ts";

interface StartConfig {
  readonly loaded: LoadedConfig;
  /** Errors of the zones file, which do not hold up the start; empty: none. */
  readonly zonesProblems: readonly ConfigProblem[];
  /** The same of settings of hostgroups: those of these hostgroups are left out, but for never-banned addresses. */
  readonly settingsProblems: readonly ConfigProblem[];
}

/** The last good zones of a zones file, which a state folder has; null: none. */
type KeptZones = (stateDir: string, zonesFile: string) => readonly Zone[] | null;
type Valid = Extract<LoadedConfig, { kind: "valid" }>;

const NO_PROBLEMS = { zonesProblems: [], settingsProblems: [] };

export function loadAtStart(path: string, kept: KeptZones): StartConfig {
  const read = readConfigFile(path);
  const loaded = parseRead(read, path);
  if (loaded.kind === "valid" || read.kind !== "bytes") return { ...NO_PROBLEMS, loaded };
  const settingsProblems = loaded.problems.filter(isOfSettings);
  for (const surroundings of [around(path), ...withoutFaulty(path, settingsProblems)]) {
    const alone = parseConfig(read.bytes, undefined, surroundings);
    if (alone.kind === "invalid") continue;
    const whole = parseConfig(read.bytes, readConfigFile, surroundings);
    if (whole.kind === "valid") return { ...NO_PROBLEMS, loaded: whole, settingsProblems };
    const started = withKeptZones(alone, kept);
    if (started !== null) return { loaded: started, zonesProblems: whole.problems, settingsProblems };
  }
  return { ...NO_PROBLEMS, loaded };
}

function isOfSettings({ file }: ConfigProblem): boolean {
  return file !== undefined && basename(file) === SETTINGS_FILE;
}

/** null: it names no zones file. */
function withKeptZones(alone: Valid, kept: KeptZones): Valid | null {
  const { edge, stateDir } = alone.config;
  if (edge === null || edge.zonesFile === null) return null;
  const zones = kept(stateDir, edge.zonesFile);
  const known = { zones: zones ?? [], areZonesKnown: zones !== null };
  return { ...alone, config: Object.freeze({ ...alone.config, edge: deepFreeze({ ...edge, ...known }) }) };
}

/** First without what is at fault, then without all that the API set. */
function withoutFaulty(path: string, problems: readonly ConfigProblem[]): readonly Surroundings[] {
  const settings = problems[0]?.file;
  if (settings === undefined) return [];
  const { files, ...rest } = around(path);
  const none = { ...rest, files: { ...files, exists: (name: string) => name !== settings && files.exists(name) } };
  const bytes = goodSettings(settings, problems);
  if (bytes === null) return [none];
  const read: typeof files.read = (name, most) =>
    name === settings ? { kind: "bytes", bytes } : files.read(name, most);
  return [{ ...rest, files: { ...files, read } }, none];
}

type Groups = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
const NEVER_BANNED = "protected_whitelist";

/** null: nothing in it can be used. */
function goodSettings(path: string, problems: readonly ConfigProblem[]): Uint8Array | null {
  const faulty = (name: string, key: string | null) =>
    problems.some(({ path: at }) => at[0] === "hostgroups" && at[1] === name && (key === null || at[2] === key));
  try {
    const { hostgroups } = JSON.parse(readFileSync(path, "utf8")) as { hostgroups: Groups };
    const good = Object.entries(hostgroups).map(([name, own]) => {
      if (!faulty(name, null)) return [name, own] as const;
      const listed = faulty(name, NEVER_BANNED) ? undefined : own[NEVER_BANNED];
      return [name, listed === undefined ? {} : { [NEVER_BANNED]: listed }] as const;
    });
    const some = good.filter(([, own]) => Object.keys(own).length > 0);
    return new TextEncoder().encode(JSON.stringify({ hostgroups: Object.fromEntries(some) }));
  } catch {
    return null;
  }
}
