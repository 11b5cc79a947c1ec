/**
 * Sections of a configuration file in place of its own: for proposals, which are tried as what they would be, and then
 * shown as text to be pasted.
 */
import { readFileSync } from "node:fs";
import { stringify } from "yaml";
import type { Config } from "../config.ts";
import { ConfigError, parseConfig } from "./load.ts";
import { describeProblem } from "./problem.ts";
import { readYaml } from "./yaml-document.ts";

/** Values as a file has them, by top-level key. */
export type Sections = Readonly<Record<string, unknown>>;

/** Of a file that was found to be valid. Throws ConfigError where it can be read only once, as a pipe. */
export function readSections(path: string): Sections {
  const { value } = readYaml(readFileSync(path, "utf8"));
  if (typeof value === "object" && value !== null) return value as Sections;
  throw new ConfigError(`${path}: is empty when it is read again: name a file, not a pipe`);
}

/** The configuration with these sections instead of its own; undefined takes one out. Throws ConfigError. */
export function configWith(file: Sections, sections: Sections): Config {
  const loaded = parseConfig(new TextEncoder().encode(JSON.stringify({ ...file, ...sections })));
  if (loaded.kind === "valid") return loaded.config;
  throw new ConfigError(loaded.problems.map((problem) => describeProblem("the proposal", problem)).join("\n"));
}

/** As YAML; a section that was taken out is not in it. */
export function sectionsText(sections: Sections): string {
  return stringify(JSON.parse(JSON.stringify(sections)), { lineWidth: 0, flowCollectionPadding: true });
}
