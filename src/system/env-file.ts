/**
 * A file of variables that is loaded into the environment when it changes: it rotates secrets without a restart, since
 * no other process can change a running process's environment. An unusable file changes nothing.
 */
import { isUtf8 } from "node:buffer";
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";

import type { Clock } from "./clock.ts";
import { type EnvLines, parseEnvLines } from "./env-lines.ts";
import { messageOf } from "./error-message.ts";

/** Bytes of the file of environment variables with their secrets. */
export const ENV_FILE_BYTES_MAX = 1024 * 1024;

interface EnvFileOptions {
  readonly clock: Pick<Clock, "wallMs">;
  /** Default: the environment of the process. */
  readonly environment?: Record<string, string | undefined>;
  /** Called at every refresh while the problem lasts. */
  readonly onProblem: (path: string, problem: string) => void;
  /** Names of the variables that were added or changed, and of those that were removed. */
  readonly onChange: (path: string, change: EnvChange) => void;
}

interface EnvChange {
  readonly set: readonly string[];
  readonly unset: readonly string[];
}

/**
 * If the file changes in the same clock tick in which it was read, its times do not change: a file this new is read
 * again.
 */
const UNSETTLED_MS = 1000;
/** Maximum number of reported faults of one file. */
const PROBLEMS_REPORTED_MAX = 5;

type Reading =
  | { readonly kind: "read"; readonly text: string; readonly version: string; readonly changedMs: number }
  | { readonly kind: "unreadable"; readonly problem: string; readonly version: string | null };

export class EnvFile {
  readonly #options: EnvFileOptions;
  readonly #environment: Record<string, string | undefined>;
  #path: string | null = null;
  /** Version of the content that was accepted or refused; null: read it in any case. */
  #version: string | null = null;
  #problem: string | null = null;
  /** Variables that the file set. */
  #names: ReadonlySet<string> = new Set();
  #changes = 0;

  constructor(options: EnvFileOptions) {
    this.#options = options;
    this.#environment = options.environment ?? process.env;
  }

  /** How often variables changed. */
  get changes(): number {
    return this.#changes;
  }

  /** Follows this file from now on, or none; variables that only the last file set are unset. */
  follow(path: string | null): void {
    if (path === this.#path) return;
    if (path === null && this.#path !== null) this.#take(this.#path, new Map());
    this.#path = path;
    this.#version = null;
    this.refresh();
  }

  /** Checks the file's times, and reads it when they changed: cheap enough for every request. */
  refresh(): void {
    const path = this.#path;
    if (path === null) return;
    if (this.#version === null || this.#version !== versionAt(path)) this.#read(path);
    if (this.#problem !== null) this.#options.onProblem(path, this.#problem);
  }

  #read(path: string): void {
    const reading = readWhole(path);
    this.#version = reading.version;
    if (reading.kind === "unreadable") {
      this.#problem = reading.problem;
      return;
    }
    if (Math.abs(this.#options.clock.wallMs() - reading.changedMs) < UNSETTLED_MS) this.#version = null;
    const lines = parseEnvLines(reading.text);
    this.#problem = lines.kind === "invalid" ? lines.problems.slice(0, PROBLEMS_REPORTED_MAX).join("; ") : null;
    if (lines.kind === "variables") this.#take(path, lines.variables);
  }

  #take(path: string, variables: ReadonlyMap<string, string>): void {
    const environment = this.#environment;
    const set = [...variables].filter(([name, value]) => environment[name] !== value);
    const unset = [...this.#names].filter((name) => !variables.has(name));
    for (const [name, value] of set) environment[name] = value;
    for (const name of unset) delete environment[name];
    this.#names = new Set(variables.keys());
    if (set.length + unset.length === 0) return;
    this.#changes++;
    this.#options.onChange(path, { set: set.map(([name]) => name), unset });
  }
}

/** Reads the file once, without following it. */
export function readEnvFile(path: string): EnvLines {
  const reading = readWhole(path);
  return reading.kind === "read" ? parseEnvLines(reading.text) : { kind: "invalid", problems: [reading.problem] };
}

function versionAt(path: string): string | null {
  try {
    return versionOf(statSync(path, { bigint: true }));
  } catch {
    // The following read reports the reason.
    return null;
  }
}

/** A replaced file, by rename or by a changed link, is another version too. */
function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

function readWhole(path: string): Reading {
  let file: number | null = null;
  try {
    // Opening a pipe must not block.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = fstatSync(file, { bigint: true });
    const version = versionOf(stats);
    if (!stats.isFile()) return { kind: "unreadable", problem: "is not a file", version };
    const bytes = readBounded(file, ENV_FILE_BYTES_MAX + 1);
    if (bytes.length > ENV_FILE_BYTES_MAX) {
      return { kind: "unreadable", problem: `is larger than ${ENV_FILE_BYTES_MAX} bytes`, version };
    }
    if (!isUtf8(bytes)) return { kind: "unreadable", problem: "is not UTF-8", version };
    return { kind: "read", text: bytes.toString("utf8"), version, changedMs: Number(stats.ctimeMs) };
  } catch (cause) {
    return { kind: "unreadable", problem: `cannot be read: ${messageOf(cause)}`, version: null };
  } finally {
    if (file !== null) closeSync(file);
  }
}

/** Reads to the end or to the bound, regardless of the reported size. */
function readBounded(file: number, bound: number): Buffer {
  const bytes = Buffer.allocUnsafe(bound);
  for (let length = 0; length < bound; ) {
    const count = readSync(file, bytes, length, bound - length, null);
    if (count === 0) return bytes.subarray(0, length);
    length += count;
  }
  return bytes;
}
