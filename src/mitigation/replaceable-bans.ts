/**
 * Which automatic bans end at a cap so that a worse attack is banned: those whose attacks have been calm for longest,
 * then those of the smallest attacks. Manual bans are never replaced. Without replacement, an attacker could keep the
 * cap reached by many small attacks on different hosts, and a flood would get no ban.
 *
 * Where packets are counted behind the routers that drop them, a ban makes its attack seem calm. If the attack is back
 * after its ban was replaced, that was the case: from then on its calm does not count, and it replaces another ban only
 * if it is clearly larger, so that bans do not replace one another in an endless circle.
 */
import { sizeOfRate, sizeOfRates } from "../detection/attack/attack-size.ts";
import type { Ban } from "./ban.ts";
import type { BannedAttacks } from "./banned-attacks.ts";

/** An attack that needs a ban. */
export interface Newcomer {
  /** As in attack-size.ts. */
  readonly size: number;
  /** It had a ban, which was replaced. */
  readonly isBack: boolean;
}

interface Standing {
  readonly ban: Ban;
  /** Monotonic ms; null: the attack is not calm, or its calm does not count. */
  readonly calmSinceMs: number | null;
  /** What a newcomer must exceed, and the largest size so far. */
  readonly size: number;
  readonly peak: number;
}

/** How much larger an attack that is back must be than the peak of the one whose ban it replaces. */
const BACK_FACTOR = 1.25;
/** An attack that cannot be seen counts for this share of its peak: one that is seen is certain. */
const UNSEEN_SHARE = 0.5;

export class ReplaceableBans {
  readonly #sorted: readonly Standing[];

  /** As of now: bans that begin later are not in the list. */
  constructor(bans: Iterable<Ban>, attacks: BannedAttacks, wallMs: number) {
    this.#sorted = [...bans]
      .filter(({ manual }) => !manual)
      .map((ban) => standingOf(ban, attacks, wallMs))
      .sort(replacedFirst);
  }

  /** The bans that the newcomer may replace, in the order in which they end. */
  *before({ size, isBack }: Newcomer): Generator<Ban> {
    for (const standing of this.#sorted) {
      if (standing.calmSinceMs !== null) yield standing.ban;
      else if (isBack) {
        if (size > BACK_FACTOR * standing.peak) yield standing.ban;
      } else if (size > standing.size) yield standing.ban;
      else return;
    }
  }
}

function standingOf(ban: Ban, attacks: BannedAttacks, wallMs: number): Standing {
  const held = attacks.of(ban.heldBy);
  const known = ban.metric === null ? 0 : sizeOfRate(ban.metric, ban.rate);
  const peak = Math.max(known, ...held.map(({ id }) => attacks.peakOf(id)));
  const isCalm = held.every(({ calmSinceMs }) => calmSinceMs !== null);
  if (!isCalm) return { ban, calmSinceMs: null, size: Math.max(...held.map(({ rates }) => sizeOfRates(rates))), peak };
  const isHeldAnyway = held.length === 0 || (ban.holdUntil !== null && wallMs < ban.holdUntil);
  if (isHeldAnyway || held.some(({ id }) => attacks.wasReplaced(id))) {
    return { ban, calmSinceMs: null, size: UNSEEN_SHARE * peak, peak };
  }
  return { ban, calmSinceMs: Math.max(...held.map(({ calmSinceMs }) => calmSinceMs ?? 0)), size: 0, peak };
}

function replacedFirst(a: Standing, b: Standing): number {
  if (a.calmSinceMs === null || b.calmSinceMs === null) {
    return Number(a.calmSinceMs === null) - Number(b.calmSinceMs === null) || a.size - b.size;
  }
  return a.calmSinceMs - b.calmSinceMs;
}
