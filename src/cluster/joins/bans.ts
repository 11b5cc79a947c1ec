/**
 * Bans of one prefix at several brains. Each decides alone whether it has one; while several do, expiry, hold and repetition
 * are the largest, the rung is the hardest, and rules are those that were made first. Pure: functions of what brains say.
 */

/** Wall clock of this brain, ms. */
export interface BanTimes {
  readonly expiresAt: number;
  /** null: it is not held. */
  readonly holdUntil: number | null;
  readonly repeat: number;
}

/** How often the bans of the prefix went back a rung, and where they are. */
interface Rung {
  readonly eases: number;
  readonly step: number;
}

/**
 * Times of other brains that are later by less are taken for equal: a message takes a while, and two brains must not prolong
 * each other's bans by that.
 */
export const SAME_TIME_MS = 1000;
/** Rules of two brains that were made within this time were made at once: then those of the lower name are first. */
export const AT_ONCE_MS = 250;

/** Returns the same object if nothing changes. */
export function joinedTimes<Times extends BanTimes>(own: Times, others: readonly BanTimes[]): Times {
  let { expiresAt, holdUntil, repeat } = own;
  for (const other of others) {
    if (other.expiresAt - expiresAt >= SAME_TIME_MS) expiresAt = other.expiresAt;
    if (other.holdUntil !== null && other.holdUntil - (holdUntil ?? 0) >= SAME_TIME_MS) holdUntil = other.holdUntil;
    repeat = Math.max(repeat, other.repeat);
  }
  const isSame = expiresAt === own.expiresAt && holdUntil === own.holdUntil && repeat === own.repeat;
  return isSame ? own : { ...own, expiresAt: Math.max(expiresAt, holdUntil ?? 0), holdUntil, repeat };
}

/** More steps back are later than fewer; of as many the harder rung counts. */
export function laterRung(a: Rung, b: Rung): Rung {
  if (a.eases !== b.eases) return a.eases > b.eases ? a : b;
  return a.step >= b.step ? a : b;
}

/** The turn that follows from the rungs of the others. */
export interface RungTurn {
  /** At least this rung is due; 0: any. */
  readonly leastStep: number;
  /** The ban goes back a rung, since the brain that decides it has. */
  readonly isEased: boolean;
  /** How often it went back, with what is known of the others. */
  readonly eases: number;
}

export function rungTurn(own: Rung, others: readonly Rung[]): RungTurn {
  const latest = others.reduce(laterRung, own);
  if (latest.eases < own.eases || latest === own) return { leastStep: 0, isEased: false, eases: own.eases };
  if (latest.eases === own.eases) return { leastStep: latest.step, isEased: false, eases: own.eases };
  // It follows one step at a time, each of which counts when it is taken.
  if (own.step > latest.step) return { leastStep: latest.step, isEased: true, eases: own.eases };
  return { leastStep: latest.step, isEased: false, eases: latest.eases };
}

/** Rules of one brain. */
export interface MadeRules<Rules> {
  readonly brain: string;
  readonly rules: Rules;
  /** By any one clock, ms. */
  readonly sinceMs: number;
}

/** Those that the brain keeps to; null: its own are the first, or there are none. */
export function firstRules<Rules>(
  own: { readonly brain: string; readonly sinceMs: number | null },
  others: readonly MadeRules<Rules>[],
): MadeRules<Rules> | null {
  const [first] = others.toSorted((a, b) => (isFirst(a, b) ? -1 : 1));
  if (first === undefined) return null;
  return own.sinceMs === null || isFirst(first, { brain: own.brain, sinceMs: own.sinceMs }) ? first : null;
}

type Made = Pick<MadeRules<unknown>, "brain" | "sinceMs">;

function isFirst(a: Made, b: Made): boolean {
  return Math.abs(a.sinceMs - b.sinceMs) < AT_ONCE_MS ? a.brain < b.brain : a.sinceMs < b.sinceMs;
}
