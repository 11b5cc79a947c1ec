/**
 * Which Floodwall service a route in the speaker belongs to. Several services may use one speaker; each changes its own
 * routes alone. The number of a service is `bgp.instance`, or else a random one that is kept in `state_dir`.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { BGP_INSTANCE_MAX } from "../limits.ts";
import { messageOf } from "../system/error-message.ts";
import { StoredFile } from "../system/stored-file.ts";

/** Routes of builds that did not distinguish services: their path identifier was "FLWL". */
export const WITHOUT_INSTANCE = 0x4c574c;
/** Instances are numbers of 24 bits. */
const NUMBERS = 0x100_0000;

/** The file with the number is there, and cannot be read now. The message says what to do. */
export class InstanceFileError extends Error {
  override readonly name = "InstanceFileError";
}

export interface RouteOwner {
  /** The instance of routes that this service announces. */
  readonly instance: number;
  /** Whether routes of another instance become this service's: wanted ones are announced again, others withdrawn. */
  takesOver(instance: number): boolean;
  /** No route that takesOver() is left. */
  adopted(): void;
}

interface InstanceOptions {
  readonly stateDir: string;
  /** `bgp.instance`; null: not set. */
  readonly configured: number | null;
  /** Whether the speaker was started for this service alone. */
  readonly isSpeakerOwn: boolean;
  readonly warn: (fields: object, message: string) => void;
}

interface Stored {
  readonly instance: number;
  /** Earlier numbers of this service, until their routes are adopted. */
  readonly former: readonly number[];
}

export class Instance implements RouteOwner {
  readonly #path: string;
  readonly #file: StoredFile;
  readonly #warn: InstanceOptions["warn"];
  readonly #isSpeakerOwn: boolean;
  #stored: Stored;
  /** The file was damaged: routes may be announced under any number. */
  #isLost = false;

  /** Throws InstanceFileError. */
  constructor({ stateDir, configured, isSpeakerOwn, warn }: InstanceOptions) {
    this.#path = join(stateDir, "bgp-instance");
    this.#file = new StoredFile(this.#path);
    this.#warn = warn;
    this.#isSpeakerOwn = isSpeakerOwn;
    const stored = this.#read();
    const kept = stored === null || stored.instance <= BGP_INSTANCE_MAX ? null : stored.instance;
    const instance = configured ?? kept ?? anyNumber();
    const former = stored === null ? [WITHOUT_INSTANCE] : [...stored.former, stored.instance];
    this.#stored = { instance, former: [...new Set(former)].filter((number) => number !== instance) };
    if (stored?.instance === instance || this.#writeAtStart() || configured !== null) return;
    // If the number is lost with the process, no service withdraws its routes after a restart.
    this.#stored = { instance: WITHOUT_INSTANCE, former: [] };
  }

  get instance(): number {
    return this.#stored.instance;
  }

  takesOver(instance: number): boolean {
    return this.#stored.former.includes(instance) || (this.#isLost && this.#isSpeakerOwn);
  }

  adopted(): void {
    this.#isLost = false;
    if (this.#stored.former.length === 0) return;
    this.#stored = { instance: this.instance, former: [] };
    this.#file.replace(this.#text()).catch((cause: unknown) => this.#notWritten(cause));
  }

  /** Resolves when nothing waits to be written. */
  settled(): Promise<void> {
    return this.#file.settled();
  }

  /** null: there is none, or it is damaged. */
  #read(): Stored | null {
    const text = readText(this.#path);
    if (text === null) return null;
    try {
      const stored: unknown = JSON.parse(text);
      if (isStored(stored)) return stored;
      throw new Error("not in the form of this build");
    } catch (cause) {
      this.#isLost = true;
      const fields = { file: this.#path, cause: messageOf(cause) };
      this.#warn(fields, "the BGP instance file is not readable: using a new instance number");
      return null;
    }
  }

  /** Returns whether it is on disk: without that, no route may be announced under the number. Waits for the disk. */
  #writeAtStart(): boolean {
    try {
      const file = openSync(`${this.#path}.new`, "w", 0o600);
      try {
        writeSync(file, this.#text());
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(`${this.#path}.new`, this.#path);
      return true;
    } catch (cause) {
      this.#notWritten(cause);
      return false;
    }
  }

  #text(): string {
    return `${JSON.stringify(this.#stored)}\n`;
  }

  #notWritten(cause: unknown): void {
    const fields = { file: this.#path, cause: messageOf(cause) };
    this.#warn(fields, "the BGP instance file cannot be written");
  }
}

/**
 * null: there is no such file. Throws if it cannot be read now, for example without a free descriptor: with another
 * number, the routes that are announced under this one would belong to no service.
 */
function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    // Below a file there is none either.
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    const remedy = "make it readable, or move it aside to get another number";
    throw new InstanceFileError(`${path} cannot be read: ${messageOf(cause)}: ${remedy}`, { cause });
  }
}

/** Not one that an operator may configure. */
function anyNumber(): number {
  for (;;) {
    const number = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % NUMBERS;
    if (number > BGP_INSTANCE_MAX && number !== WITHOUT_INSTANCE) return number;
  }
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== "object" || value === null || !("instance" in value) || !("former" in value)) return false;
  const { instance, former } = value;
  return isNumber(instance) && Array.isArray(former) && former.every(isNumber);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value < NUMBERS;
}
