/** The changes of a reload for the prefixes that the scrubbing hook diverts. Pure. */
import type { HookConfig } from "../divert/divert-config.ts";
import type { Diversion } from "../mitigation/diversion.ts";
import { type DiversionChanges, NO_DIVERSION_CHANGES } from "../mitigation/wanted-changes.ts";

interface HookChange {
  readonly running: readonly Pick<Diversion, "prefix" | "phase" | "isDryRun">[];
  readonly before: HookConfig | null;
  readonly after: HookConfig | null;
}

/** @param bans what bans that change begin and end */
export function hookChanges(bans: DiversionChanges, { running, before, after }: HookChange): DiversionChanges {
  const all = running.map(({ prefix }) => prefix);
  if (after === null) return { ...NO_DIVERSION_CHANGES, strands: all };
  const ending = new Set([...bans.ends, ...running.flatMap(({ prefix, phase }) => (phase === "ending" ? prefix : []))]);
  const isRenewed = (isDryRun = false) => isDryRun !== after.isDryRun;
  const renews = running.flatMap(({ prefix, isDryRun }) => (isRenewed(isDryRun) && !ending.has(prefix) ? prefix : []));
  const isMoved = before !== null && !Bun.deepEquals(before.target, after.target);
  return { ...bans, renews, moves: isMoved ? all : [] };
}
