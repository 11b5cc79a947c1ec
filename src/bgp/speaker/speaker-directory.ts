/** The files of a managed gobgpd: its configuration, log and deadline, and in another directory its socket. */
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../system/error-message.ts";
import type { UnixUser } from "./gobgpd-process.ts";
import { SpeakerFault } from "./speaker-fault.ts";

/** Relative to the run directory, gobgpd's working directory: its user may not be allowed to read the parents. */
export const CONFIG_FROM_RUN = "../gobgpd.toml";
export const SOCKET_FROM_RUN = "gobgpd.sock";
export const DEADLINE_FROM_RUN = "../routes-until";
/** A full disk takes a text of the same length in the same place. */
const DEADLINE_CHARACTERS = 15;

const LOG_BYTES_MAX = 4 * 1024 * 1024;
const LOG_TAIL_CHARACTERS = 16 * 1024;
const LOG_READ_BYTES = 256 * 1024;
/** The kernel's limit for the path of a Unix socket. */
const SOCKET_PATH_BYTES_MAX = 107;

export class SpeakerDirectory {
  readonly #base: string;

  constructor(stateDir: string) {
    this.#base = join(stateDir, "gobgpd");
  }

  logFile(): string {
    return join(this.#base, "gobgpd.log");
  }

  /** Canonical path, as in /proc; null before prepare(). */
  run(): string | null {
    const directory = join(this.#base, "run");
    return existsSync(directory) ? realpathSync(directory) : null;
  }

  /**
   * Creates missing directories and returns the run directory. gobgpd's user owns it, and only this user may enter it,
   * since access to the socket controls the speaker. The service writes no files there, which that user could replace.
   */
  prepare(user: UnixUser | null): string {
    const directory = faultOnError(() => {
      mkdirSync(join(this.#base, "run"), { recursive: true });
      const run = realpathSync(join(this.#base, "run"));
      chmodSync(this.#base, 0o755);
      chmodSync(run, 0o700);
      if (user !== null) chownSync(run, user.uid, user.gid);
      return run;
    });
    if (Buffer.byteLength(join(directory, SOCKET_FROM_RUN)) <= SOCKET_PATH_BYTES_MAX) return directory;
    throw new SpeakerFault("gobgpd", `${directory} is too long for a socket's path: choose a shorter state_dir`);
  }

  /** Removes the socket of a killed gobgpd, which would prevent a start. */
  removeSocket(run: string): void {
    rmSync(join(run, SOCKET_FROM_RUN), { force: true });
  }

  writeConfig(toml: string): void {
    const path = join(this.#base, "gobgpd.toml");
    faultOnError(() => {
      writeFileSync(path, toml);
      // Another user's gobgpd reads it, whatever this process's umask is.
      chmodSync(path, 0o644);
    });
  }

  /** Until when gobgpd may run without a service, seconds of the boot clock. Throws when it cannot be written. */
  writeDeadline(bootSeconds: number): void {
    const path = join(this.#base, "routes-until");
    const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o644);
    try {
      // Another user's guard reads it, whatever this process's umask is.
      fchmodSync(file, 0o644);
      writeSync(file, `${String(bootSeconds).padEnd(DEADLINE_CHARACTERS)}\n`, 0);
    } finally {
      closeSync(file);
    }
  }

  /** Truncates the log. gobgpd opens it in append mode and continues at the new end. */
  trimLog(): void {
    if (this.logBytes() > LOG_BYTES_MAX) truncateSync(this.logFile());
  }

  logBytes(): number {
    return existsSync(this.logFile()) ? statSync(this.logFile()).size : 0;
  }

  /** The log from this offset on, at most LOG_READ_BYTES, and the offset of the next call. */
  readLog(from: number): { text: string; end: number } {
    const bytes = this.logBytes();
    // trimLog() was called since.
    const start = from > bytes ? 0 : from;
    if (start === bytes) return { text: "", end: bytes };
    const buffer = Buffer.alloc(Math.min(bytes - start, LOG_READ_BYTES));
    const log = openSync(this.logFile(), "r");
    try {
      const read = readSync(log, buffer, 0, buffer.length, start);
      return { text: buffer.toString("utf8", 0, read), end: start + read };
    } finally {
      closeSync(log);
    }
  }

  /** The end of the log, from at least this offset. */
  logSince(bytes: number): string {
    return this.wholeLogSince(bytes).slice(-LOG_TAIL_CHARACTERS);
  }

  /** The log from this offset, or all of it if it was truncated since. */
  wholeLogSince(bytes: number): string {
    const size = this.logBytes();
    if (size === 0) return "";
    return readFileSync(this.logFile())
      .subarray(size < bytes ? 0 : bytes)
      .toString("utf8");
  }
}

function faultOnError<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw new SpeakerFault("gobgpd", `state directory: ${messageOf(error)}`);
  }
}
