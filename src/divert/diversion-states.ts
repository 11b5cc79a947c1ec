/** Diversions as they are counted. Pure. */
import type { Diversion, DiversionState } from "../mitigation/diversion.ts";
import type { HookFault } from "./hook-faults.ts";

/**
 * Each prefix once: its phase, or that it is lost, from the loss until it is diverted again or, once it has ended, until
 * its fault is over.
 */
export function diversionStates(
  running: readonly Pick<Diversion, "prefix" | "phase" | "isLost">[],
  faults: readonly Pick<HookFault, "prefix" | "isLost">[],
): readonly DiversionState[] {
  const known = new Set(running.map(({ prefix }) => prefix));
  const ended = faults.filter(({ isLost, prefix }) => isLost && !known.has(prefix));
  return [...running.map(({ phase, isLost }) => (isLost ? "lost" : phase)), ...ended.map(() => "lost" as const)];
}
