/**
 * Keeps shared links over a restart: one file in `state_dir` that only its owner can read, replaced as a whole. A damaged one
 * is moved aside: its links end, and the start does not depend on it.
 */
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { SharedLink } from "../access/guest-links.ts";
import { messageOf } from "../system/error-message.ts";
import { StoredFile } from "../system/stored-file.ts";

const VERSION = 1;

export class SharedLinkFile {
  readonly path: string;
  readonly #file: StoredFile;

  constructor(stateDir: string) {
    this.path = join(stateDir, "shared-links.json");
    this.#file = new StoredFile(this.path);
  }

  /** @param onDamaged the file was moved aside */
  load(onDamaged: (error: string, movedTo: string) => void): readonly SharedLink[] {
    try {
      const { version, links } = JSON.parse(readFileSync(this.path, "utf8")) as { version: number; links: unknown };
      if (version !== VERSION || !Array.isArray(links) || !links.every(isLink))
        throw new Error("its format is unknown");
      return links;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
      const movedTo = `${this.path}.damaged`;
      renameSync(this.path, movedTo);
      onDamaged(`${this.path}: ${messageOf(cause)}`, movedTo);
      return [];
    }
  }

  save(links: readonly SharedLink[]): Promise<void> {
    return this.#file.replace(JSON.stringify({ version: VERSION, links }));
  }
}

function isLink(value: unknown): value is SharedLink {
  const { id, kind, key, digest, createdAt, expiresAt, by } = (value ?? {}) as Partial<SharedLink>;
  const areTexts = [id, kind, key, digest].every((text) => typeof text === "string");
  return areTexts && Number.isFinite(createdAt) && Number.isFinite(expiresAt) && typeof by?.operator === "string";
}
