/**
 * Keeps the masters of clearance keys over a restart: one small file in `state_dir` that only its owner can read,
 * replaced as a whole, so that a kill -9 leaves the old or the new file.
 */
import { chmodSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ClearanceMaster, ClearanceStore } from "../edge/zones/clearance-keys.ts";
import { CLEARANCE_MASTERS_KEPT } from "../limits.ts";
import { messageOf } from "../system/error-message.ts";
import { StoredFile } from "../system/stored-file.ts";

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
  readonly #file: StoredFile;
  readonly #onDamaged: (error: string, movedTo: string) => void;

  /** @param onDamaged the file cannot be used and was moved aside. */
  constructor(stateDir: string, onDamaged: (error: string, movedTo: string) => void = () => {}) {
    this.path = join(stateDir, "clearance-masters");
    this.#file = new StoredFile(this.path);
    this.#onDamaged = onDamaged;
  }

  /** A damaged file is moved aside: visitors of the zones are challenged once more, and the start does not depend on it. */
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
      return this.#moveAside(cause);
    }
    return mastersIn(text) ?? this.#moveAside(new Error("it has a format that this build does not know"));
  }

  #moveAside(cause: unknown): readonly ClearanceMaster[] {
    const movedTo = `${this.path}.damaged`;
    try {
      renameSync(this.path, movedTo);
    } catch {
      throw this.#fault("read", cause);
    }
    this.#onDamaged(`${this.path}: ${messageOf(cause)}`, movedTo);
    return [];
  }

  async save(masters: readonly ClearanceMaster[]): Promise<void> {
    try {
      await this.#file.replace(textOf(masters));
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
