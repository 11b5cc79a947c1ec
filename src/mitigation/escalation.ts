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
  /** It begins only while the attack is not held: see OVER_THRESHOLD_MS. */
  readonly unlessHeld?: boolean;
}

/**
 * An attack is not held if more than its threshold has passed this machine's filter for this time, ms: the rules of a
 * new attack need some of it.
 */
export const OVER_THRESHOLD_MS = 5000;

/** After this time sources must prove more, ms: early enough to hold the attack before the next rung begins. */
export const STRICTER_MS = OVER_THRESHOLD_MS / 2;

/**
 * At least one rung that acts. The first is at 0, times strictly increase, and of those that act severity never falls;
 * rungs that only watch may be anywhere.
 */
export type Ladder = readonly Rung[];

/** How much legitimate traffic the victim may lose, as ordered levels. */
const SEVERITY: Readonly<Record<Action, number>> = { none: 0, scrub: 1, flowspec: 2, divert: 3, blackhole: 4 };

export function isLessSevere(action: Action, than: Action): boolean {
  return SEVERITY[action] < SEVERITY[than];
}

interface Climb {
  /** Since the ban began. */
  readonly elapsedMs: number;
  readonly isManual: boolean;
  /** The rung that it is on. */
  readonly step: number;
  /** How long the attack has not been held on that rung. */
  readonly overThresholdMs: number;
  /** Nothing above the thresholds has come in on that rung for long enough. */
  readonly isEased: boolean;
  /** An automatic ban is at least on this rung; absent: on any. */
  readonly leastStep?: number;
}

/**
 * Index of the highest rung that is due. A manual ban acts at once: it skips rungs that only watch. Rungs that wait for
 * an attack that is not held are climbed one by one, and stay due, since on them it is held: until the attack is eased,
 * when the ban goes back by one, and no further than to the rung that is due by time alone.
 */
export function dueStep(ladder: Ladder, climb: Climb): number {
  const own = ownStep(ladder, climb);
  return climb.isManual ? own : Math.max(own, Math.min(climb.leastStep ?? 0, ladder.length - 1));
}

function ownStep(ladder: Ladder, { elapsedMs, isManual, step: on, overThresholdMs, isEased }: Climb): number {
  const present = isEased ? on - 1 : on;
  let step = isManual ? Math.max(0, firstActing(ladder)) : 0;
  const isClimbing = !isEased && overThresholdMs >= OVER_THRESHOLD_MS;
  let climbed = false;
  for (const [i, { afterSeconds, action, unlessHeld = false }] of ladder.entries()) {
    if (elapsedMs < afterSeconds * 1000) break;
    // An operator's ban goes on acting where a rung only watches.
    if (isManual && action === "none") continue;
    if (!unlessHeld || i <= present) step = Math.max(step, i);
    else if (isClimbing && !climbed) {
      step = i;
      climbed = true;
    }
  }
  return step;
}

/** The method that the API shows for this rung; while a ban only watches, the next method, after the last one that. */
export function methodOf(ladder: Ladder, step: number): Method {
  for (const { action } of [...ladder.slice(step), ...ladder.toReversed()]) if (action !== "none") return action;
  throw new Error("bug: a ladder without a rung that acts");
}

function firstActing(ladder: Ladder): number {
  return ladder.findIndex(({ action }) => action !== "none");
}
