/** Attacks that are over, newest first, up to a bound; the oldest leave. */
import type { Attack } from "./attack.ts";

export class AttackLog {
  readonly #kept: number;
  #ended: readonly Attack[] = [];

  constructor(kept: number) {
    this.#kept = kept;
  }

  add(attack: Attack): void {
    this.#ended = [attack, ...this.#ended].slice(0, this.#kept);
  }

  get ended(): readonly Attack[] {
    return this.#ended;
  }
}
