/**
 * Attacks whose last change is not in the state database yet. One in progress must survive the process, so that its ban
 * ends with it; one that is over leaves the database.
 */
import type { Attack } from "../detection/attack/attack.ts";
import type { StateDatabase } from "./state-database.ts";

export class UnsavedAttacks {
  readonly #state: Pick<StateDatabase, "atOnce" | "saveAttack" | "removeAttack">;
  readonly #onFault: (cause: unknown) => void;
  /** By id; null: over, its record is to be removed. */
  readonly #unsaved = new Map<string, Attack | null>();

  constructor(state: Pick<StateDatabase, "atOnce" | "saveAttack" | "removeAttack">, onFault: (cause: unknown) => void) {
    this.#state = state;
    this.#onFault = onFault;
  }

  add(attack: Attack): void {
    this.#unsaved.set(attack.id, attack.endedAt === null ? attack : null);
  }

  get unsaved(): number {
    return this.#unsaved.size;
  }

  /** All of it waits on when the write fails. */
  flush(): void {
    if (this.#unsaved.size === 0) return;
    try {
      this.#state.atOnce(() => {
        for (const [id, attack] of this.#unsaved) {
          if (attack === null) this.#state.removeAttack(id);
          else this.#state.saveAttack(attack);
        }
      });
      this.#unsaved.clear();
    } catch (cause) {
      this.#onFault(cause);
    }
  }
}
