/** Attacks that are over, newest first, up to a bound; the oldest leave. */
import type { Attack } from "./attack.ts";

export class AttackLog {
  readonly #kept: number;
  #ended: readonly Attack[] = [];

  constructor(kept: number) {
    this.#kept = kept;
  }

  /** Takes the place of one with its id: an attack may end again that an earlier process ended and did not get to forget. */
  add(attack: Attack): void {
    this.#ended = [attack, ...this.#ended.filter(({ id }) => id !== attack.id)].slice(0, this.#kept);
  }

  /** Takes up attacks of an earlier process; those that are here already stay as they are. */
  restore(attacks: readonly Attack[]): void {
    const known = new Set(this.#ended.map(({ id }) => id));
    const all = [...this.#ended, ...attacks.filter(({ id }) => !known.has(id))];
    this.#ended = all.sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0)).slice(0, this.#kept);
  }

  get ended(): readonly Attack[] {
    return this.#ended;
  }
}
