/** Bans that are withdrawn or rejected for good, up to a bound; the oldest leave. */
import type { Attack } from "../detection/attack.ts";
import type { Ban } from "./ban.ts";
import { CountedBans } from "./counted-bans.ts";

export class EndedBans {
  readonly #kept: number;
  readonly #onForgotten: (id: string) => void;
  /** By id, in the order in which they ended. */
  readonly bans = new CountedBans<string>();
  /** The ban that ended last of each attack. */
  readonly #byAttack = new Map<string, Ban>();

  constructor(kept: number, onForgotten: (id: string) => void) {
    this.#kept = kept;
    this.#onForgotten = onForgotten;
  }

  add(ban: Ban): void {
    this.bans.set(ban.id, ban);
    if (ban.attackId !== null) this.#byAttack.set(ban.attackId, ban);
    for (const oldest of this.bans.values()) {
      if (this.bans.size <= this.#kept) return;
      this.#forget(oldest);
    }
  }

  /** The ban that an attack had; null: none, or it left the table. */
  of(attack: Attack): Ban | null {
    const own = this.#byAttack.get(attack.id);
    if (own !== undefined) return own;
    for (const ban of this.bans.values()) if (ban.manual && covers(ban, attack)) return ban;
    return null;
  }

  #forget(ban: Ban): void {
    this.bans.delete(ban.id);
    if (ban.attackId !== null && this.#byAttack.get(ban.attackId) === ban) this.#byAttack.delete(ban.attackId);
    this.#onForgotten(ban.id);
  }
}

/**
 * Whether a ban was in force while an attack lasted: a manual one is of no attack, and may outlast several. Both ends are
 * excluded, since a ban that begins as an attack ends is none of its own.
 */
export function covers(ban: Ban, attack: Attack): boolean {
  if (ban.target !== attack.target || ban.state === "rejected") return false;
  return (
    ban.startedAt < (attack.endedAt ?? Number.POSITIVE_INFINITY) &&
    attack.startedAt < (ban.withdrawnAt ?? Number.POSITIVE_INFINITY)
  );
}
