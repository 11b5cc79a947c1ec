/** Replaces sections of a configuration file: for proposed sections, which are tried and then shown as text. */
import { readFileSync } from "node:fs";
import { stringify } from "yaml";
import { describeProblem } from "../../schema/problem.ts";
import type { Config } from "../config.ts";
import { ConfigError, parseConfig } from "./load.ts";
import { readYaml } from "./yaml-document.ts";

/** Values as in a file, by top-level key. */
export type Sections = Readonly<Record<string, unknown>>;

/** The file must be valid. Throws ConfigError if it can be read only once, as a pipe. */
export function readSections(path: string): Sections {
  const { value } = readYaml(readFileSync(path, "utf8"));
  if (typeof value === "object" && value !== null) return value as Sections;
  throw new ConfigError(`${path}: is empty when it is read again: name a file, not a pipe`);
}

/** The configuration with these sections replaced; undefined removes a section. Throws ConfigError. */
export function configWith(file: Sections, sections: Sections): Config {
  const loaded = parseConfig(new TextEncoder().encode(JSON.stringify({ ...file, ...sections })));
  if (loaded.kind === "valid") return loaded.config;
  throw new ConfigError(loaded.problems.map((problem) => describeProblem("the proposal", problem)).join("\n"));
}

/** As YAML, without removed sections. */
export function sectionsText(sections: Sections): string {
  return stringify(JSON.parse(JSON.stringify(sections)), { lineWidth: 0, flowCollectionPadding: true });
}
