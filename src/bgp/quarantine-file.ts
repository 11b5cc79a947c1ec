/**
 * Keeps the rules in quarantine over a restart: one file in `state_dir`, replaced as a whole. A lost file costs each
 * neighbor that resets over a rule two more resets.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { KeptBack } from "./route-quarantine.ts";

/** `untilMs` is wall time here. */
export class QuarantineFile {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, "bgp-quarantine.json");
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

  save(entries: readonly KeptBack[]): void {
    const unfinished = `${this.path}.new`;
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o750 });
    writeFileSync(unfinished, JSON.stringify(entries), { mode: 0o600, flush: true });
    renameSync(unfinished, this.path);
  }
}

function isKeptBack(entry: unknown): entry is KeptBack {
  if (typeof entry !== "object" || entry === null) return false;
  const { rule, neighbor, untilMs }: { rule?: unknown; neighbor?: unknown; untilMs?: unknown } = entry;
  return typeof rule === "string" && typeof neighbor === "string" && Number.isFinite(untilMs);
}
