/** The attacks and bans of the lists, updated by events. Pure: does not know where the data comes from. */
import type { AttacksWire, AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { ENDED_ATTACKS_KEPT } from "../../src/limits.ts";

export class AttackTable {
  readonly #active = new Map<string, AttackWire>();
  /** Newest first, as in the API. */
  #recent: AttackWire[] = [];

  replace({ active, recent }: AttacksWire): void {
    this.#active.clear();
    for (const attack of active) this.#active.set(attack.id, attack);
    this.#recent = [...recent];
  }

  apply(attack: AttackWire): void {
    if (attack.active) {
      // An event that was sent before the list was read must not reopen an attack that the list shows as ended.
      if (!this.#recent.some(({ id }) => id === attack.id)) this.#active.set(attack.id, attack);
      return;
    }
    this.#active.delete(attack.id);
    const others = this.#recent.filter(({ id }) => id !== attack.id);
    this.#recent = [attack, ...others].slice(0, ENDED_ATTACKS_KEPT);
  }

  /** Returns copies, which later events do not change. */
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

/** Two bans of one prefix never start in the same millisecond. */
export function banKey({ prefix, started_at }: BanWire): string {
  return `${prefix} ${started_at}`;
}
