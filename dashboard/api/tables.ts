/** The attacks and bans of the lists, updated by events. Pure: does not know where the data comes from. */
import type { AttacksWire, AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { ENDED_ATTACKS_KEPT } from "../../src/limits.ts";

/** An attack in progress with what came and passed in the last seconds. */
export interface LiveAttack extends AttackWire {
  /** Absent: not known yet. */
  readonly recent?: { readonly packets: number; readonly passed: number };
}

interface Counted {
  readonly atMs: number;
  readonly packets: number;
  readonly passed: number;
}

/** The time of which `recent` is, at least: events come once a second. */
const RECENT_MS = 4000;

export class AttackTable {
  readonly #active = new Map<string, LiveAttack>();
  /** By attack, the oldest first: one that is RECENT_MS old, and those since then. */
  readonly #counted = new Map<string, Counted[]>();
  /** Newest first, as in the API. */
  #recent: AttackWire[] = [];

  /** @param nowMs of a clock that goes on evenly, here and below */
  replace({ active, recent }: AttacksWire, nowMs: number): void {
    this.#active.clear();
    for (const attack of active) this.#active.set(attack.id, this.#withRecent(attack, nowMs));
    for (const id of this.#counted.keys()) if (!this.#active.has(id)) this.#counted.delete(id);
    this.#recent = [...recent];
  }

  apply(attack: AttackWire, nowMs: number): void {
    if (attack.active) {
      // An event that was sent before the list was read must not reopen an attack that the list shows as ended.
      if (this.#recent.some(({ id }) => id === attack.id)) return;
      this.#active.set(attack.id, this.#withRecent(attack, nowMs));
      return;
    }
    this.#active.delete(attack.id);
    this.#counted.delete(attack.id);
    const others = this.#recent.filter(({ id }) => id !== attack.id);
    this.#recent = [attack, ...others].slice(0, ENDED_ATTACKS_KEPT);
  }

  /** Returns copies, which later events do not change. */
  lists(): AttacksWire {
    return { active: [...this.#active.values()], recent: this.#recent };
  }

  #withRecent(attack: AttackWire, atMs: number): LiveAttack {
    const { id, volume } = attack;
    if (volume?.passed_packets === undefined) return attack;
    const now = { atMs, packets: volume.packets, passed: volume.passed_packets };
    const all = [...(this.#counted.get(id) ?? []), now];
    while ((all[1]?.atMs ?? atMs) <= atMs - RECENT_MS) all.shift();
    this.#counted.set(id, all);
    const [first = now] = all;
    const packets = now.packets - first.packets;
    // All that is not known to be dropped has passed: a count of drops may come a tick later.
    const passed = Math.min(packets, Math.max(0, now.passed - first.passed));
    return packets > 0 ? { ...attack, recent: { packets, passed } } : attack;
  }
}

/** The service may answer with a list as old as this, ms: what events said since then is newer. */
const LIST_AGE_MAX_MS = 1500;

export class BanTable {
  readonly #bans = new Map<string, BanWire>();
  /** Those of the last events, the last one last. */
  readonly #recent = new Map<string, { readonly ban: BanWire; readonly atMs: number }>();

  /** @param askedMs when the list was requested, by the clock of apply() */
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
