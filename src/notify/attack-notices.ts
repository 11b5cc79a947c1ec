/**
 * Decides which changes of an attack are notified: its start, its end, and in between each time that its rate has
 * doubled since the last notification or its kind has changed. The start waits for the kind, which takes a moment; the
 * first rates say little about the size, since the window still fills.
 */
import { type Attack, attackRate } from "../detection/attack/attack.ts";
import type { AttackEvent } from "./event.ts";

/** The shortest time between two notifications of a growing rate, ms. */
export const CHANGE_PAUSE_MS = 10_000;
/** How long the notification of a start waits for the attack's kind, ms: without sampling the kind never arrives. */
export const KIND_WAIT_MS = 500;
const CHANGE_FACTOR = 2;

/** How long more than the threshold must get through an attack's ban before it is notified, and between two notices, ms. */
const NOT_HELD_MS = 10_000;
const NOT_HELD_PAUSE_MS = 600_000;

export type AttackTurn = "started" | "lasts" | "classified" | "ended";

interface Notice {
  readonly rate: number;
  readonly type: string | null;
  readonly atMs: number;
}

export class AttackNotices {
  /** By active attack; bounded by the detector. */
  readonly #last = new Map<string, Notice>();
  /** Attacks whose start is not notified yet, with the time when they started. */
  readonly #waiting = new Map<string, number>();

  /** When it was last notified that an attack is not held. */
  readonly #notHeld = new Map<string, number>();

  /** Whether to notify that an attack with a ban in force is not held. Called for each active attack in each tick. */
  isNotHeld({ id }: Attack, overThresholdMs: number, monotonicMs: number): boolean {
    if (overThresholdMs < NOT_HELD_MS || !this.#last.has(id)) return false;
    const lastMs = this.#notHeld.get(id);
    if (lastMs !== undefined && monotonicMs - lastMs < NOT_HELD_PAUSE_MS) return false;
    this.#notHeld.set(id, monotonicMs);
    return true;
  }

  /**
   * Returns the notifications to send, which may be none. Called for each active attack in each tick. @param isNew whether its
   * start was not taken yet, here or by an earlier process.
   */
  take(
    turn: AttackTurn,
    attack: Attack,
    monotonicMs: number,
    isNew = turn === "started",
  ): readonly AttackEvent["kind"][] {
    const { id, classification } = attack;
    const waitsSince = this.#waiting.get(id) ?? (isNew ? monotonicMs : undefined);
    if (waitsSince !== undefined) {
      const isReady = classification !== null || turn === "ended" || monotonicMs - waitsSince >= KIND_WAIT_MS;
      if (!isReady) {
        this.#waiting.set(id, waitsSince);
        return [];
      }
      this.#waiting.delete(id);
      if (turn === "ended") return ["attack_started", "attack_ended"];
      this.#keep(attack, monotonicMs);
      return ["attack_started"];
    }
    if (turn === "ended") {
      this.#last.delete(id);
      this.#notHeld.delete(id);
      return ["attack_ended"];
    }
    return this.#hasChanged(attack, monotonicMs) ? ["attack_changed"] : [];
  }

  #hasChanged(attack: Attack, monotonicMs: number): boolean {
    const last = this.#last.get(attack.id);
    const type = attack.classification?.type ?? null;
    if (last === undefined) {
      // An unknown attack that lasts was notified by an earlier process.
      this.#keep(attack, monotonicMs);
      return false;
    }
    const isOfNewKind = type !== null && last.type !== null && type !== last.type;
    const hasGrown = attackRate(attack) >= CHANGE_FACTOR * last.rate && monotonicMs - last.atMs >= CHANGE_PAUSE_MS;
    if (isOfNewKind || hasGrown) this.#keep(attack, monotonicMs);
    else if (last.type === null && type !== null) this.#last.set(attack.id, { ...last, type });
    return isOfNewKind || hasGrown;
  }

  #keep(attack: Attack, atMs: number): void {
    this.#last.set(attack.id, { rate: attackRate(attack), type: attack.classification?.type ?? null, atMs });
  }
}
