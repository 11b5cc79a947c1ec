/**
 * Keeps the masters of clearance keys over a restart: one small file in `state_dir` that only its owner can read,
 * replaced as a whole, so that a kill -9 leaves the old or the new file.
 */
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { ClearanceMaster, ClearanceStore } from "../edge/zones/clearance-keys.ts";
import { CLEARANCE_MASTERS_KEPT } from "../limits.ts";
import { messageOf } from "../system/error-message.ts";

const MODE = 0o600;
const HEADER = "floodwall clearance masters 1";
/** This build never writes a larger file. */
const BYTES_MAX = 4096;

/** The file cannot be read or written. The message says what to do. */
export class ClearanceFileError extends Error {
  override readonly name = "ClearanceFileError";
}

export class ClearanceFile implements ClearanceStore {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, "clearance-masters");
  }

  load(): readonly ClearanceMaster[] {
    let text: string;
    try {
      const { mode, size } = statSync(this.path);
      if (size > BYTES_MAX) throw new Error(`larger than ${BYTES_MAX} bytes`);
      // The file may have been copied here with other permissions.
      if ((mode & 0o777) !== MODE) chmodSync(this.path, MODE);
      text = readFileSync(this.path, "latin1");
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw this.#fault("read", cause);
    }
    const masters = mastersIn(text);
    if (masters !== null) return masters;
    throw new ClearanceFileError(
      `${this.path} has a format that this build does not know: move it aside; visitors of the zones are then challenged again`,
    );
  }

  save(masters: readonly ClearanceMaster[]): void {
    const unfinished = `${this.path}.new`;
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      // An existing file would keep its mode.
      rmSync(unfinished, { force: true });
      writeWhole(unfinished, textOf(masters));
      renameSync(unfinished, this.path);
      syncFolder(dirname(this.path));
    } catch (cause) {
      throw this.#fault("write", cause);
    }
  }

  #fault(operation: "read" | "write", cause: unknown): ClearanceFileError {
    return new ClearanceFileError(
      `cannot ${operation} ${this.path}: ${messageOf(cause)}: check state_dir, its owner and the free space`,
      { cause },
    );
  }
}

function writeWhole(path: string, text: string): void {
  const file = openSync(path, "wx", MODE);
  try {
    fchmodSync(file, MODE);
    const bytes = Buffer.from(text, "latin1");
    for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes the rename durable. */
function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function textOf(masters: readonly ClearanceMaster[]): string {
  const lines = masters.map(({ day, secret }) => `${day} ${Buffer.from(secret).toString("base64url")}`);
  return `${[HEADER, ...lines].join("\n")}\n`;
}

/** null: not such a file, or incomplete. */
function mastersIn(text: string): ClearanceMaster[] | null {
  const [header, ...lines] = text.split("\n");
  if (header !== HEADER || lines.pop() !== "" || lines.length > CLEARANCE_MASTERS_KEPT) return null;
  const masters = lines.flatMap((line) => {
    const match = /^(-?\d{1,7}) ([A-Za-z0-9_-]{43})$/.exec(line);
    return match === null ? [] : [{ day: Number(match[1]), secret: Buffer.from(match[2] ?? "", "base64url") }];
  });
  const isWhole = masters.length === lines.length && new Set(masters.map(({ day }) => day)).size === lines.length;
  return isWhole ? masters : null;
}
