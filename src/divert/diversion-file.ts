/**
 * Keeps diversions over a restart. They are on disk before the hook is called to begin one, so that no diversion is left
 * that nothing ends; those that a damaged file named, a person must end by hand.
 */
import { join } from "node:path";
import { DIVERSION_PHASES, type Diversion } from "../mitigation/diversion.ts";
import { parsePrefix } from "../net/prefix.ts";
import { StoredList } from "../system/stored-list.ts";

export function diversionFile(stateDir: string): StoredList<Diversion> {
  return new StoredList(join(stateDir, "diversions.json"), "diversions", isDiversion);
}

function isDiversion(value: unknown): value is Diversion {
  const { id, requestId, prefix, isDryRun, phase, since, attempts, error, begunAt, isLost, holder } = (value ??
    {}) as Partial<Diversion>;
  const areTexts = [id, requestId, prefix].every((text) => typeof text === "string");
  const isKnown = DIVERSION_PHASES.some((known) => known === phase) && parsePrefix(prefix ?? "") !== null;
  const areNumbers = Number.isFinite(since) && Number.isInteger(attempts);
  return (
    areTexts &&
    isKnown &&
    [isDryRun, isLost].every((mark) => mark === undefined || mark === true) &&
    (begunAt === undefined || Number.isFinite(begunAt)) &&
    (holder === undefined || [holder?.operator, holder?.tenant].every((text) => typeof text === "string")) &&
    areNumbers &&
    (error === null || typeof error === "string")
  );
}
