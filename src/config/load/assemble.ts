/**
 * Puts the parts of a configuration together: the file itself, a file for each customer (`include`), lists of networks
 * (`networks_file`), and what the API set for hostgroups. The result is read as if it stood in one file; each value knows
 * where it stands. Paths are relative to the directory of the file.
 */
import { basename, dirname, join, resolve } from "node:path";
import type { ConfigPath, ConfigProblem } from "../../schema/problem.ts";
import { settingsPath } from "../group-settings.ts";
import { applySettings } from "./apply-settings.ts";
import type { ReadConfigFile } from "./read-file.ts";
import { readYaml, type YamlDocument } from "./yaml-document.ts";

/** Included files, and bytes of one of them or of a list of networks. */
export const INCLUDED_FILES_MAX = 4096;
export const INCLUDED_BYTES_MAX = 1024 * 1024;
/** Bytes of all of them together, as of the configuration file. */
const INCLUDED_BYTES_IN_ALL_MAX = 16 * 1024 * 1024;

/** The disk, as the configuration needs it. */
export interface ConfigFiles {
  read(path: string, bytesMax: number): ReadConfigFile;
  /** Names in a directory. @throws */
  list(directory: string): readonly string[];
  exists(path: string): boolean;
}

export interface Place {
  /** Absent: the configuration file. */
  readonly file?: string;
  readonly line: number;
  /** In that file. */
  readonly path: ConfigPath;
}

interface Assembled {
  readonly value: Record<string, unknown>;
  readonly problems: readonly ConfigProblem[];
  readonly placeOf: (path: ConfigPath) => Place;
}

/** Where the configuration file stands, and how to read the others. */
export interface Surroundings {
  readonly directory: string;
  readonly files: ConfigFiles;
  /** The file of settings by the API. Absent: that of the `state_dir` of the file. */
  readonly settings?: string;
}

type Mapping = Record<string, unknown>;

export function assemble(
  document: Pick<YamlDocument, "lineOf">,
  value: Mapping,
  around: Surroundings | null,
): Assembled {
  return new Assembly(document, value, around).result();
}

class Assembly {
  readonly #document: Pick<YamlDocument, "lineOf">;
  readonly #value: Mapping;
  readonly #around: Surroundings | null;
  readonly #problems: ConfigProblem[] = [];
  /** The text of a path: where it stands, if that is not in the configuration file. */
  readonly #places = new Map<string, (rest: ConfigPath) => Place>();
  #bytesLeft = INCLUDED_BYTES_IN_ALL_MAX;

  constructor(document: Pick<YamlDocument, "lineOf">, value: Mapping, around: Surroundings | null) {
    this.#document = document;
    this.#value = { ...value };
    this.#around = around;
  }

  result(): Assembled {
    const { include, hostgroups } = this.#value;
    delete this.#value["include"];
    const groups: unknown[] = Array.isArray(hostgroups) ? [...(hostgroups as unknown[])] : [];
    if (include !== undefined) this.#include(include, groups);
    for (const [i, group] of groups.entries()) {
      if (isMapping(group) && "networks_file" in group) groups[i] = this.#withNetworks(group, ["hostgroups", i]);
    }
    if (groups.length > 0) this.#value["hostgroups"] = groups;
    this.#applySettings(groups);
    return { value: this.#value, problems: this.#problems, placeOf: (path) => this.#placeOf(path) };
  }

  #placeOf(path: ConfigPath): Place {
    for (let length = path.length; length > 0; length--) {
      const place = this.#places.get(JSON.stringify(path.slice(0, length)));
      if (place !== undefined) return place(path.slice(length));
    }
    return { line: this.#document.lineOf(path), path };
  }

  #report(path: ConfigPath, rule: string): void {
    this.#problems.push({ ...this.#placeOf(path), rule });
  }

  #include(include: unknown, groups: unknown[]): void {
    const patterns = Array.isArray(include) ? include : [include];
    const included: string[] = [];
    for (const [i, pattern] of patterns.entries()) {
      const at = Array.isArray(include) ? ["include", i] : ["include"];
      if (typeof pattern !== "string" || pattern === "") {
        this.#report(at, "must be a path, such as customers/*.yaml");
        continue;
      }
      for (const path of this.#matching(pattern, at)) if (!included.includes(path)) included.push(path);
    }
    if (included.length > INCLUDED_FILES_MAX) {
      this.#report(["include"], `names ${included.length} files, more than ${INCLUDED_FILES_MAX}`);
      return;
    }
    for (const path of included) this.#includeFile(path, groups);
  }

  /** In the order of their names. A `*` may stand in the name of the file alone. */
  #matching(pattern: string, at: ConfigPath): readonly string[] {
    const around = this.#around;
    if (around === null) {
      this.#report(at, "other files cannot be read here");
      return [];
    }
    const whole = resolve(around.directory, pattern);
    if (!basename(whole).includes("*")) return [whole];
    const name = new RegExp(`^${basename(whole).split("*").map(escaped).join(".*")}$`);
    try {
      const names = around.files.list(dirname(whole)).filter((each) => !each.startsWith(".") && name.test(each));
      return names.sort().map((each) => join(dirname(whole), each));
    } catch (cause) {
      this.#report(at, `${dirname(whole)} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`);
      return [];
    }
  }

  /** The file is one hostgroup: the customer. */
  #includeFile(path: string, groups: unknown[]): void {
    const bytes = this.#read(path, ["include"]);
    if (bytes === null) return;
    const document = readYaml(new TextDecoder().decode(bytes));
    this.#problems.push(...document.problems.map((problem) => ({ ...problem, file: path })));
    if (document.value === undefined) return;
    if (!isMapping(document.value)) {
      const rule = "must be a hostgroup: a mapping with name, and networks or networks_file";
      this.#problems.push({ file: path, line: 1, path: [], rule });
      return;
    }
    this.#places.set(JSON.stringify(["hostgroups", groups.length]), (rest) => ({
      ...{ file: path, line: document.lineOf(rest), path: rest },
    }));
    groups.push(document.value);
  }

  /** null: it cannot be read, which is reported. */
  #read(path: string, at: ConfigPath): Uint8Array | null {
    if (this.#around === null) {
      this.#report(at, "other files cannot be read here");
      return null;
    }
    const read = this.#around.files.read(path, INCLUDED_BYTES_MAX + 1);
    if (read.kind === "invalid") {
      for (const { rule } of read.problems) this.#report(at, `${path} ${rule}`);
      return null;
    }
    this.#bytesLeft -= read.bytes.length;
    if (read.bytes.length > INCLUDED_BYTES_MAX) this.#report(at, `${path} is larger than ${INCLUDED_BYTES_MAX} bytes`);
    else if (this.#bytesLeft < 0) {
      this.#report(at, `the files that it names are larger than ${INCLUDED_BYTES_IN_ALL_MAX} bytes together`);
    } else return read.bytes;
    return null;
  }

  /** One prefix a line; what follows a `#` is a comment. */
  #withNetworks(group: Mapping, at: ConfigPath): Mapping {
    const { networks_file: name, networks, ...rest } = group;
    const own: unknown[] = Array.isArray(networks) ? networks : [];
    const keyAt = [...at, "networks_file"];
    if (typeof name !== "string" || name === "") {
      this.#report(keyAt, "must be a path, such as acme.networks");
      return { ...rest, networks: own };
    }
    const place = this.#placeOf(keyAt);
    const base = place.file === undefined ? (this.#around?.directory ?? "") : dirname(place.file);
    const path = resolve(base, name);
    const bytes = this.#read(path, keyAt);
    if (bytes === null) return { ...rest, networks: own };
    const listed: string[] = [];
    for (const [i, line] of new TextDecoder().decode(bytes).split("\n").entries()) {
      const text = line.replace(/#.*/, "").trim();
      if (text === "") continue;
      this.#places.set(JSON.stringify([...at, "networks", own.length + listed.length]), () => ({
        ...{ file: path, line: i + 1, path: [] },
      }));
      listed.push(text);
    }
    if (own.length + listed.length === 0)
      this.#problems.push({ file: path, line: 1, path: [], rule: "has no network" });
    return { ...rest, networks: [...own, ...listed] };
  }

  #applySettings(groups: readonly unknown[]): void {
    const { state_dir: stateDir } = this.#value;
    if (this.#around === null) return;
    const path = this.#around.settings ?? settingsPath(typeof stateDir === "string" ? stateDir : null);
    if (!this.#around.files.exists(path)) return;
    const bytes = this.#read(path, ["state_dir"]);
    if (bytes === null) return;
    const document = readYaml(new TextDecoder().decode(bytes));
    this.#problems.push(...document.problems.map((problem) => ({ ...problem, file: path })));
    const applied = applySettings(this.#value, groups, document.value);
    for (const { path: at, rule } of applied.findings) {
      this.#problems.push({ file: path, line: document.lineOf(at), path: at, rule });
    }
    for (const [at, from] of applied.places) {
      this.#places.set(JSON.stringify(at), () => ({ file: path, line: document.lineOf(from), path: from }));
    }
  }
}

function escaped(text: string): string {
  return text.replace(/[.\\+?^${}()|[\]]/g, "\\$&");
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
