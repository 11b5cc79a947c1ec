/**
 * Which automatic bans end at a cap so that a worse attack is banned: those whose attacks have been calm for longest,
 * then those of the smallest attacks. Manual bans are never replaced. Without replacement, an attacker could keep the
 * cap reached by many small attacks on different hosts, and a flood would get no ban.
 *
 * An attacker may make each attack a little larger than the last. So a newcomer must be larger by a margin, and a ban is
 * not replaced before it has been in force for a moment.
 *
 * Where packets are counted behind the routers that drop them, a ban makes its attack seem calm. If the attack is back
 * after its ban was replaced, that was the case: from then on its calm does not count, and the margin is over the peak of
 * the other attack, so that bans do not replace one another in an endless circle.
 */
import { sizeOfRate, sizeOfRates } from "../detection/attack/attack-size.ts";
import { type Ban, isWatching } from "./ban.ts";
import type { BannedAttacks } from "./banned-attacks.ts";

/** An attack that needs a ban. */
interface Newcomer {
  /** As in attack-size.ts. */
  readonly size: number;
  /** It had a ban, which was replaced. */
  readonly isBack: boolean;
}

interface Standing {
  readonly ban: Ban;
  /** Monotonic ms; null: the attack is not calm, or its calm does not count. */
  readonly calmSinceMs: number | null;
  /** Its size now, and the largest so far. */
  readonly size: number;
  readonly peak: number;
}

/** How much larger an attack must be than the one whose ban it replaces; one that is back, than the peak of that. */
const LARGER_FACTOR = 1.25;
/** A new ban is not replaced for this time. Short, since the largest attack may have to wait for it. */
export const SHORTEST_LIFE_MS = 500;
/** An attack that cannot be seen counts for this share of its peak: one that is seen is certain. */
const UNSEEN_SHARE = 0.5;

export class ReplaceableBans {
  readonly #sorted: readonly Standing[];

  /** The state at this moment: bans that begin later are not in the list. */
  constructor(bans: Iterable<Ban>, attacks: BannedAttacks, wallMs: number) {
    this.#sorted = [...bans]
      .filter((ban) => !ban.manual && !isWatching(ban) && Math.abs(wallMs - ban.countedFrom) >= SHORTEST_LIFE_MS)
      .map((ban) => standingOf(ban, attacks, wallMs))
      .sort(replacedFirst);
  }

  /** The bans that the newcomer may replace, in the order in which they end. */
  *before({ size, isBack }: Newcomer): Generator<Ban> {
    for (const standing of this.#sorted) {
      if (standing.calmSinceMs !== null) yield standing.ban;
      else if (size > LARGER_FACTOR * (isBack ? standing.peak : standing.size)) yield standing.ban;
      else if (!isBack) return;
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
