/**
 * A list in one file of `state_dir` that only its owner can read, replaced as a whole. A damaged file is moved aside, so
 * that the start does not depend on it.
 */
import { readFileSync, renameSync } from "node:fs";
import { messageOf } from "./error-message.ts";
import { StoredFile } from "./stored-file.ts";

const VERSION = 1;

export class StoredList<Row> {
  readonly #path: string;
  readonly #name: string;
  readonly #isRow: (value: unknown) => value is Row;
  readonly #file: StoredFile;

  /** @param name of the list in the file */
  constructor(path: string, name: string, isRow: (value: unknown) => value is Row) {
    [this.#path, this.#name, this.#isRow] = [path, name, isRow];
    this.#file = new StoredFile(path);
  }

  /** @param onDamaged the file was moved aside, and nothing of it is taken */
  load(onDamaged: (error: string, movedTo: string) => void): readonly Row[] {
    try {
      const { version, [this.#name]: rows } = JSON.parse(readFileSync(this.#path, "utf8")) as Record<string, unknown>;
      if (version !== VERSION || !Array.isArray(rows) || !rows.every(this.#isRow))
        throw new Error("its format is unknown");
      return rows;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
      const movedTo = `${this.#path}.damaged`;
      renameSync(this.#path, movedTo);
      onDamaged(`${this.#path}: ${messageOf(cause)}`, movedTo);
      return [];
    }
  }

  save(rows: readonly Row[]): Promise<void> {
    return this.#file.replace(JSON.stringify({ version: VERSION, [this.#name]: rows }));
  }
}
