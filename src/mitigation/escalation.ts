/**
 * The escalation ladder: what is done about an attack from its ban's start on, and what later, when it still lasts. Pure;
 * knows nothing of routes.
 */

/** How traffic is kept from a victim: its routers drop all of it, drop what rules match, or send it to be scrubbed. */
export type Method = "blackhole" | "flowspec" | "divert";
/** `none`: the attack is only watched. */
export type Action = "none" | Method;

export interface Rung {
  readonly afterSeconds: number;
  readonly action: Action;
}

/** At least one rung, the first at 0, times strictly increasing, severity never falling, the last one acts. */
export type Ladder = readonly Rung[];

/** How much is taken from the victim, in steps. */
const SEVERITY: Readonly<Record<Action, number>> = { none: 0, flowspec: 1, divert: 2, blackhole: 3 };

export function isMilder(action: Action, than: Action): boolean {
  return SEVERITY[action] < SEVERITY[than];
}

/** The highest rung that is due. An order acts at once: rungs that only watch are left out. */
export function dueStep(ladder: Ladder, elapsedMs: number, isOrder: boolean): number {
  let step = isOrder ? Math.max(0, firstActing(ladder)) : 0;
  for (const [i, { afterSeconds }] of ladder.entries()) if (elapsedMs >= afterSeconds * 1000) step = Math.max(step, i);
  return step;
}

/** What a ban on this rung is named after: while it only watches, the method that comes next. */
export function methodOf(ladder: Ladder, step: number): Method {
  for (const { action } of ladder.slice(step)) if (action !== "none") return action;
  throw new Error("bug: a ladder without a rung that acts");
}

function firstActing(ladder: Ladder): number {
  return ladder.findIndex(({ action }) => action !== "none");
}
