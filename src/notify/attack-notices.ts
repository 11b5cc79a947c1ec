/**
 * Which turns of an attack are worth a message: its start, its end, and in between each time that its rate has doubled
 * since it was last told, or that it turned into another kind. A start is told with the kind, which takes a moment; of
 * its size an early message says little, since a window fills while a flood begins.
 */
import { type Attack, attackRate } from "../detection/attack/attack.ts";
import type { AttackEvent } from "./event.ts";

/** A rate that climbs is told again after this time at the earliest, ms. */
export const CHANGE_PAUSE_MS = 10_000;
/** How long a start waits for the attack's kind, ms: without sampling it never comes. */
export const KIND_WAIT_MS = 500;
const CHANGE_FACTOR = 2;

export type AttackTurn = "started" | "lasts" | "classified" | "ended";

interface Notice {
  readonly rate: number;
  readonly type: string | null;
  readonly atMs: number;
}

export class AttackNotices {
  /** By attack in progress: as many as the detector lets be. */
  readonly #last = new Map<string, Notice>();
  /** Started, and not told yet: since when. */
  readonly #waiting = new Map<string, number>();

  /** Empty: nothing new. Called for each attack in progress each tick. */
  take(turn: AttackTurn, attack: Attack, monotonicMs: number): readonly AttackEvent["kind"][] {
    const { id, classification } = attack;
    const waitsSince = turn === "started" ? monotonicMs : this.#waiting.get(id);
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
      return ["attack_ended"];
    }
    return this.#hasChanged(attack, monotonicMs) ? ["attack_changed"] : [];
  }

  #hasChanged(attack: Attack, monotonicMs: number): boolean {
    const last = this.#last.get(attack.id);
    const type = attack.classification?.type ?? null;
    if (last === undefined) {
      // One that lasts and is not known was told by an earlier process.
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
