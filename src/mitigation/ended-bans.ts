/** Bans that are withdrawn or rejected for good, up to a bound; the oldest leave. */
import type { Attack } from "../detection/attack/attack.ts";
import { enclosingPrefix, type Prefix } from "../net/prefix.ts";
import type { Ban } from "./ban.ts";
import { isOneAddress, prefixUnderAttack } from "./ban-subject.ts";
import { CountedBans } from "./counted-bans.ts";

export class EndedBans {
  readonly #kept: number;
  readonly #onForgotten: (id: string) => void;
  /** By id, in the order in which they ended. */
  readonly bans = new CountedBans<string>();
  /** The ban that ended last of each attack that began one. */
  readonly #byAttack = new Map<string, Ban>();
  /** The one that was in force last, by the text of its prefix. */
  readonly #lastOf = new Map<string, Ban>();

  constructor(kept: number, onForgotten: (id: string) => void) {
    this.#kept = kept;
    this.#onForgotten = onForgotten;
  }

  add(ban: Ban): void {
    this.bans.set(ban.id, ban);
    if (ban.attackId !== null) this.#byAttack.set(ban.attackId, ban);
    if (ban.state === "withdrawn") this.#lastOf.set(ban.prefix.text, ban);
    for (const oldest of this.bans.values()) {
      if (this.bans.size <= this.#kept) return;
      this.#forget(oldest);
    }
  }

  /**
   * The ban that was in force last for a prefix; null: none, or it left the table. A spread attack that begins anew may
   * begin with a part: of a prefix also that of a wider one.
   */
  lastOf(prefix: Prefix): Ban | null {
    let last = this.#lastOf.get(prefix.text) ?? null;
    if (isOneAddress(prefix)) return last;
    for (let length = prefix.length - 1; length > 0; length--) {
      const wider = this.#lastOf.get(enclosingPrefix(prefix.address, length).text);
      if (wider !== undefined && (wider.withdrawnAt ?? 0) > (last?.withdrawnAt ?? 0)) last = wider;
    }
    return last;
  }

  /** The ban that an attack had; null: none, or it left the table. */
  of(attack: Attack): Ban | null {
    const own = this.#byAttack.get(attack.id);
    if (own !== undefined) return own;
    // One that it did not begin: an order, or that of an attack in the other direction.
    const prefix = prefixUnderAttack(attack);
    if (prefix === null) return null;
    for (const ban of this.bans.values()) if (ban.prefix.text === prefix.text && covers(ban, attack)) return ban;
    return null;
  }

  #forget(ban: Ban): void {
    this.bans.delete(ban.id);
    if (ban.attackId !== null && this.#byAttack.get(ban.attackId) === ban) this.#byAttack.delete(ban.attackId);
    if (this.#lastOf.get(ban.prefix.text) === ban) this.#lastOf.delete(ban.prefix.text);
    this.#onForgotten(ban.id);
  }
}

/**
 * Whether a ban of the prefix under attack was in force while the attack lasted: one that it did not begin may outlast
 * several. Both ends are excluded, since a ban that begins as an attack ends is none of its own.
 */
export function covers(ban: Ban, attack: Attack): boolean {
  return (
    ban.state !== "rejected" &&
    ban.startedAt < (attack.endedAt ?? Number.POSITIVE_INFINITY) &&
    attack.startedAt < (ban.withdrawnAt ?? Number.POSITIVE_INFINITY)
  );
}
