/** Ended attacks, newest first, up to a bound; the oldest are removed first. */
import type { Attack } from "./attack.ts";

export class AttackLog {
  readonly #kept: number;
  #ended: readonly Attack[] = [];

  constructor(kept: number) {
    this.#kept = kept;
  }

  /**
   * Replaces an attack with the same id: an attack may end twice if the first process was killed before it stored the
   * end.
   */
  add(attack: Attack): void {
    this.#ended = [attack, ...this.#ended.filter(({ id }) => id !== attack.id)].slice(0, this.#kept);
  }

  /** Adds attacks of an earlier process, except those that are in the log already. */
  restore(attacks: readonly Attack[]): void {
    const known = new Set(this.#ended.map(({ id }) => id));
    const all = [...this.#ended, ...attacks.filter(({ id }) => !known.has(id))];
    this.#ended = all.sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0)).slice(0, this.#kept);
  }

  get ended(): readonly Attack[] {
    return this.#ended;
  }
}
