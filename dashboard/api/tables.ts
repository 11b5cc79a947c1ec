/** The attacks and bans as the lists had them, brought up to date by events. Pure: knows nothing of where they come from. */
import type { AttacksWire, AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { ENDED_ATTACKS_KEPT } from "../../src/limits.ts";

export class AttackTable {
  readonly #active = new Map<string, AttackWire>();
  /** Newest first, as the service has them. */
  #recent: AttackWire[] = [];

  replace({ active, recent }: AttacksWire): void {
    this.#active.clear();
    for (const attack of active) this.#active.set(attack.id, attack);
    this.#recent = [...recent];
  }

  apply(attack: AttackWire): void {
    if (attack.active) {
      // An event that was on its way when the list was read does not begin again what is over there.
      if (!this.#recent.some(({ id }) => id === attack.id)) this.#active.set(attack.id, attack);
      return;
    }
    this.#active.delete(attack.id);
    const others = this.#recent.filter(({ id }) => id !== attack.id);
    this.#recent = [attack, ...others].slice(0, ENDED_ATTACKS_KEPT);
  }

  /** Copies, which the next event does not change. */
  lists(): AttacksWire {
    return { active: [...this.#active.values()], recent: this.#recent };
  }
}

export class BanTable {
  readonly #bans = new Map<string, BanWire>();

  replace(bans: readonly BanWire[]): void {
    this.#bans.clear();
    for (const ban of bans) this.#bans.set(banKey(ban), ban);
  }

  apply(ban: BanWire): void {
    this.#bans.set(banKey(ban), ban);
  }

  list(): BanWire[] {
    return [...this.#bans.values()];
  }
}

/** Of one prefix no two bans begin in the same millisecond. */
export function banKey({ prefix, started_at }: BanWire): string {
  return `${prefix} ${started_at}`;
}
