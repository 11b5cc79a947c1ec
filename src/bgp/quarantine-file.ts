/**
 * Keeps the rules in quarantine over a restart: one file in `state_dir`, replaced as a whole. A lost file costs each
 * neighbor that resets over a rule two more resets.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { StoredFile } from "../system/stored-file.ts";
import type { KeptBack } from "./route-quarantine.ts";

/** `untilMs` is wall time here. */
export class QuarantineFile {
  readonly path: string;
  readonly #file: StoredFile;

  constructor(stateDir: string) {
    this.path = join(stateDir, "bgp-quarantine.json");
    this.#file = new StoredFile(this.path);
  }

  /** Throws what the file system or a file of another format throws; a missing file is empty. */
  load(): readonly KeptBack[] {
    let text: string;
    try {
      text = readFileSync(this.path, "utf8");
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw cause;
    }
    const entries: unknown = JSON.parse(text);
    if (Array.isArray(entries) && entries.every(isKeptBack)) return entries;
    throw new Error("it has a format that this build does not know");
  }

  /** Resolves when they are on disk, or newer ones. */
  save(entries: readonly KeptBack[]): Promise<void> {
    return this.#file.replace(JSON.stringify(entries));
  }

  /** Resolves when nothing waits to be written. */
  settled(): Promise<void> {
    return this.#file.settled();
  }
}

function isKeptBack(entry: unknown): entry is KeptBack {
  if (typeof entry !== "object" || entry === null) return false;
  const { rule, neighbor, untilMs }: { rule?: unknown; neighbor?: unknown; untilMs?: unknown } = entry;
  return typeof rule === "string" && typeof neighbor === "string" && Number.isFinite(untilMs);
}
