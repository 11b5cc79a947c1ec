/**
 * Which turns of an attack are worth a message: its start, its end, and in between each time that its rate has doubled
 * since it was last told. An early message says little of the size of a flood, since a window fills while it begins.
 */
import { type Attack, attackRate } from "../detection/attack.ts";
import type { AttackEvent } from "./event.ts";

/** A rate that climbs is told again after this time at the earliest, ms. */
export const CHANGE_PAUSE_MS = 10_000;
const CHANGE_FACTOR = 2;

interface Told {
  readonly rate: number;
  readonly atMs: number;
}

export class AttackNews {
  /** By attack in progress: as many as the detector lets be. */
  readonly #told = new Map<string, Told>();

  /** null: nothing new. Called for each attack in progress each tick. */
  take(kind: "started" | "lasts" | "ended", attack: Attack, monotonicMs: number): AttackEvent["kind"] | null {
    if (kind === "ended") {
      this.#told.delete(attack.id);
      return "attack_ended";
    }
    const rate = attackRate(attack);
    const told = this.#told.get(attack.id);
    if (kind === "started" || told === undefined) {
      this.#told.set(attack.id, { rate, atMs: monotonicMs });
      // One that lasts and is not known was told by an earlier process.
      return kind === "started" ? "attack_started" : null;
    }
    if (rate < CHANGE_FACTOR * told.rate || monotonicMs - told.atMs < CHANGE_PAUSE_MS) return null;
    this.#told.set(attack.id, { rate, atMs: monotonicMs });
    return "attack_changed";
  }
}
