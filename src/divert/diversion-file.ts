/**
 * Keeps diversions over a restart, in one file of `state_dir` that is replaced as a whole. They are on disk before the hook is
 * called to begin one, so that no diversion is left that nothing ends.
 */
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { DIVERSION_PHASES, type Diversion } from "../mitigation/diversion.ts";
import { parsePrefix } from "../net/prefix.ts";
import { messageOf } from "../system/error-message.ts";
import { StoredFile } from "../system/stored-file.ts";

const VERSION = 1;

export class DiversionFile {
  readonly path: string;
  readonly #file: StoredFile;

  constructor(stateDir: string) {
    this.path = join(stateDir, "diversions.json");
    this.#file = new StoredFile(this.path);
  }

  /** @param onDamaged the file was moved aside: what it named, its reader must end by hand */
  load(onDamaged: (error: string, movedTo: string) => void): readonly Diversion[] {
    try {
      const { version, diversions } = JSON.parse(readFileSync(this.path, "utf8")) as Record<string, unknown>;
      if (version !== VERSION || !Array.isArray(diversions) || !diversions.every(isDiversion))
        throw new Error("its format is unknown");
      return diversions;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
      const movedTo = `${this.path}.damaged`;
      renameSync(this.path, movedTo);
      onDamaged(`${this.path}: ${messageOf(cause)}`, movedTo);
      return [];
    }
  }

  save(diversions: readonly Diversion[]): Promise<void> {
    return this.#file.replace(JSON.stringify({ version: VERSION, diversions }));
  }
}

function isDiversion(value: unknown): value is Diversion {
  const { id, requestId, prefix, isDryRun, phase, since, attempts, error, begunAt, isLost } = (value ??
    {}) as Partial<Diversion>;
  const areTexts = [id, requestId, prefix].every((text) => typeof text === "string");
  const isKnown = DIVERSION_PHASES.some((known) => known === phase) && parsePrefix(prefix ?? "") !== null;
  const areNumbers = Number.isFinite(since) && Number.isInteger(attempts);
  return (
    areTexts &&
    isKnown &&
    [isDryRun, isLost].every((mark) => mark === undefined || mark === true) &&
    (begunAt === undefined || Number.isFinite(begunAt)) &&
    areNumbers &&
    (error === null || typeof error === "string")
  );
}
