/** The escalation ladder: which action a ban takes at which time after its start. Pure; knows no routes. */

/**
 * How traffic is kept from a victim: this machine drops what sources do not prove and what rules match (`scrub`);
 * routers drop what rules match, send all of it to a scrub node, or drop all of it.
 */
export type Method = "scrub" | "flowspec" | "divert" | "blackhole";
/** `none`: the attack is only watched. */
export type Action = "none" | Method;

export interface Rung {
  readonly afterSeconds: number;
  readonly action: Action;
}

/** At least one rung. The first is at 0, times strictly increase, severity never falls, and the last rung acts. */
export type Ladder = readonly Rung[];

/** How much legitimate traffic the victim may lose, as ordered levels. */
const SEVERITY: Readonly<Record<Action, number>> = { none: 0, scrub: 1, flowspec: 2, divert: 3, blackhole: 4 };

export function isLessSevere(action: Action, than: Action): boolean {
  return SEVERITY[action] < SEVERITY[than];
}

/** Index of the highest rung that is due. A manual ban acts at once: it skips rungs that only watch. */
export function dueStep(ladder: Ladder, elapsedMs: number, isManual: boolean): number {
  let step = isManual ? Math.max(0, firstActing(ladder)) : 0;
  for (const [i, { afterSeconds }] of ladder.entries()) if (elapsedMs >= afterSeconds * 1000) step = Math.max(step, i);
  return step;
}

/** The method that the API shows for this rung; while a ban only watches, the next method. */
export function methodOf(ladder: Ladder, step: number): Method {
  for (const { action } of ladder.slice(step)) if (action !== "none") return action;
  throw new Error("bug: a ladder without a rung that acts");
}

function firstActing(ladder: Ladder): number {
  return ladder.findIndex(({ action }) => action !== "none");
}
