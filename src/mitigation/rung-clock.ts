/**
 * How long each ban has been on its rung without holding its attacks, and how long it has not been needed there. In
 * memory: a restart begins again at zero.
 */
import type { Attack } from "../detection/attack/attack.ts";
import type { Ban } from "./ban.ts";
import type { ForeignBans } from "./foreign-bans.ts";

/** The state of a ban's rung. */
export interface RungState {
  /** How long the attacks have not been held on the rung, ms: the longest of them. */
  readonly overThresholdMs: number;
  /** The ban goes back by one rung. */
  readonly isEased: boolean;
  /** The rung of another brain's ban, which this one has at least; absent: any. */
  readonly leastStep?: number;
}

export const NEW_RUNG: RungState = { overThresholdMs: 0, isEased: false };

/** Wall clock, ms. */
interface OnRung {
  readonly step: number;
  readonly sinceMs: number;
  /** Since when none of the attacks is above its thresholds; null: one is. */
  readonly calmSinceMs: number | null;
  /** The ban has gone back before. */
  readonly hasEased: boolean;
  /** How often a harder rung was needed again after that. */
  readonly relapses: number;
}

/** Each relapse doubles the time that the next step back takes, so often: then it is months. */
const RELAPSES_MAX = 16;

export class RungClock {
  readonly #overThresholdMs: (attack: Attack, wallMs: number) => number;
  readonly #known = new Map<string, OnRung>();

  readonly #foreign: ForeignBans | undefined;

  /**
   * @param overThresholdMs how long an attack has not been held, whatever the rung.
   * @param foreign undefined: there is one brain.
   */
  constructor(overThresholdMs: (attack: Attack, wallMs: number) => number, foreign?: ForeignBans) {
    this.#overThresholdMs = overThresholdMs;
    this.#foreign = foreign;
  }

  /**
   * @param attacks those that hold the ban, as far as they are known.
   * @param easedAfterSeconds how long nothing above the thresholds must come in; 0: the ban never goes back.
   */
  see(ban: Ban, attacks: readonly Attack[], easedAfterSeconds: number, wallMs: number): RungState {
    return withForeignRung(this.#see(ban, attacks, easedAfterSeconds, wallMs), ban, this.#foreign);
  }

  #see(ban: Ban, attacks: readonly Attack[], easedAfterSeconds: number, wallMs: number): RungState {
    const known = this.#known.get(ban.id);
    const isCalm = attacks.length === ban.heldBy.length && attacks.every(({ calmSinceMs }) => calmSinceMs !== null);
    const calmSinceMs = isCalm ? (known?.calmSinceMs ?? wallMs) : null;
    if (known?.step !== ban.step) {
      this.#known.set(ban.id, arrived(known, { step: ban.step, sinceMs: wallMs, calmSinceMs: isCalm ? wallMs : null }));
      return NEW_RUNG;
    }
    if (calmSinceMs !== known.calmSinceMs) this.#known.set(ban.id, { ...known, calmSinceMs });
    const ofAttacks = attacks.map((attack) => this.#overThresholdMs(attack, wallMs));
    const waitMs = 1000 * easedAfterSeconds * 2 ** known.relapses;
    return {
      overThresholdMs: Math.min(Math.max(0, ...ofAttacks), Math.max(0, wallMs - known.sinceMs)),
      isEased: easedAfterSeconds > 0 && !ban.manual && calmSinceMs !== null && wallMs - calmSinceMs >= waitMs,
    };
  }

  /** The wall clock was set: the times on the rungs do not change. */
  clockStepped(byMs: number): void {
    for (const [id, known] of this.#known) {
      const calmSinceMs = known.calmSinceMs === null ? null : known.calmSinceMs + byMs;
      this.#known.set(id, { ...known, sinceMs: known.sinceMs + byMs, calmSinceMs });
    }
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}

function arrived(before: OnRung | undefined, on: Pick<OnRung, "step" | "sinceMs" | "calmSinceMs">): OnRung {
  if (before === undefined) return { ...on, hasEased: false, relapses: 0 };
  const { hasEased, relapses } = before;
  if (on.step < before.step) return { ...on, hasEased: true, relapses };
  return { ...on, hasEased, relapses: hasEased ? Math.min(relapses + 1, RELAPSES_MAX) : relapses };
}

function withForeignRung(rung: RungState, ban: Ban, foreign: ForeignBans | undefined): RungState {
  if (foreign === undefined || ban.manual) return rung;
  const { leastStep, isEased } = foreign.rungOf(ban);
  return { ...rung, leastStep, isEased: isEased || (rung.isEased && foreign.mayEase() && ban.step > leastStep) };
}
