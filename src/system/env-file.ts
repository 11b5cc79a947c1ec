/**
 * A file of variables that is taken into the environment whenever it changed: how secrets rotate without a restart, since
 * nobody else can change the environment of a running process. A file that cannot be used changes nothing.
 */
import { isUtf8 } from "node:buffer";
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { type EnvLines, parseEnvLines } from "../config/load/env-lines.ts";
import { ENV_FILE_BYTES_MAX } from "../limits.ts";
import type { Clock } from "./clock.ts";
import { messageOf } from "./error-message.ts";

export interface EnvFileOptions {
  readonly clock: Pick<Clock, "wallMs">;
  /** Default: the environment of the process. */
  readonly environment?: Record<string, string | undefined>;
  /** Told at every refresh as long as it holds. */
  readonly onProblem: (path: string, problem: string) => void;
  /** Names of the variables that were set anew or differently, and of those that are gone. */
  readonly onChange: (path: string, change: EnvChange) => void;
}

export interface EnvChange {
  readonly set: readonly string[];
  readonly unset: readonly string[];
}

/** A change in the same tick of the kernel's clock as our reading would have the same times: then it is read again. */
const UNSETTLED_MS = 1000;
/** Of a file with faults. */
const PROBLEMS_TOLD = 5;

type Reading =
  | { readonly kind: "read"; readonly text: string; readonly version: string; readonly changedMs: number }
  | { readonly kind: "unreadable"; readonly problem: string; readonly version: string | null };

export class EnvFile {
  readonly #options: EnvFileOptions;
  readonly #environment: Record<string, string | undefined>;
  #path: string | null = null;
  /** Of the content that was taken in or refused; null: to be read in any case. */
  #version: string | null = null;
  #problem: string | null = null;
  /** Variables that are there by the file. */
  #names: ReadonlySet<string> = new Set();
  #changes = 0;

  constructor(options: EnvFileOptions) {
    this.#options = options;
    this.#environment = options.environment ?? process.env;
  }

  /** How often variables became others. */
  get changes(): number {
    return this.#changes;
  }

  /** From now on this file, or none; variables of the one before that are not in it are unset. */
  follow(path: string | null): void {
    if (path === this.#path) return;
    if (path === null && this.#path !== null) this.#take(this.#path, new Map());
    this.#path = path;
    this.#version = null;
    this.refresh();
  }

  /** A look at the file's times, and a reading of it when they changed: cheap enough for every request. */
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
    this.#problem = lines.kind === "invalid" ? lines.problems.slice(0, PROBLEMS_TOLD).join("; ") : null;
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

/** Reads it once, for those who do not follow it. */
export function readEnvFile(path: string): EnvLines {
  const reading = readWhole(path);
  return reading.kind === "read" ? parseEnvLines(reading.text) : { kind: "invalid", problems: [reading.problem] };
}

function versionAt(path: string): string | null {
  try {
    return versionOf(statSync(path, { bigint: true }));
  } catch {
    // Why, is told by the reading.
    return null;
  }
}

/** Another file under the name, by rename or by a link that was turned, is another version too. */
function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

function readWhole(path: string): Reading {
  let file: number | null = null;
  try {
    // A pipe under this name must not hold us up until somebody writes into it.
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

/** To the end or to the bound, whatever its size was said to be. */
function readBounded(file: number, bound: number): Buffer {
  const bytes = Buffer.allocUnsafe(bound);
  for (let length = 0; length < bound; ) {
    const count = readSync(file, bytes, length, bound - length, null);
    if (count === 0) return bytes.subarray(0, length);
    length += count;
  }
  return bytes;
}
