/**
 * The accepted classification of an attack: the first one counts at once, since mitigation waits for it; another kind
 * replaces it after two equal results in a row, so that rules do not follow noise. Pure.
 */
import { type Classification, isSameKind } from "./classifier.ts";

export interface Verdict {
  /** null: none yet. */
  readonly held: Classification | null;
  /** Found once; accepted when found again. */
  readonly candidate: Classification | null;
}

export const NO_VERDICT: Verdict = { held: null, candidate: null };

/** @param found null: there were no packets. */
export function nextVerdict({ held, candidate }: Verdict, found: Classification | null): Verdict {
  if (found === null) return { held, candidate };
  const isHeld = held === null || isSameKind(held, found) || (candidate !== null && isSameKind(candidate, found));
  return isHeld ? { held: found, candidate: null } : { held, candidate: found };
}

/** Whether the kind of attack changed. */
export function isNewKind(before: Verdict, after: Verdict): boolean {
  if (after.held === null) return false;
  return before.held === null || !isSameKind(before.held, after.held);
}
