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

/** The service may answer with a list as old as this, ms: what events said since then is newer. */
const LIST_AGE_MAX_MS = 1500;

export class BanTable {
  readonly #bans = new Map<string, BanWire>();
  /** Those of the last events, the last one last. */
  readonly #recent = new Map<string, { readonly ban: BanWire; readonly atMs: number }>();

  /** @param askedMs when the list was asked for, by the clock of apply() */
  replace(bans: readonly BanWire[], askedMs: number): void {
    this.#bans.clear();
    for (const ban of bans) this.#bans.set(banKey(ban), ban);
    for (const [key, { ban, atMs }] of this.#recent) {
      if (atMs < askedMs - LIST_AGE_MAX_MS) this.#recent.delete(key);
      else this.#bans.set(key, ban);
    }
  }

  apply(ban: BanWire, atMs: number): void {
    const key = banKey(ban);
    this.#bans.set(key, ban);
    this.#recent.delete(key);
    this.#recent.set(key, { ban, atMs });
  }

  list(): BanWire[] {
    return [...this.#bans.values()];
  }
}

/** Two bans of one prefix never start in the same millisecond. */
export function banKey({ prefix, started_at }: BanWire): string {
  return `${prefix} ${started_at}`;
}
