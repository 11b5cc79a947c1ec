/** For how long each ban has been on its rung without holding its attacks. In memory: a restart begins anew. */
import type { Attack } from "../detection/attack/attack.ts";
import type { Ban } from "./ban.ts";

export class RungClock {
  readonly #unheldMs: (attack: Attack, wallMs: number) => number;
  readonly #since = new Map<string, { readonly step: number; readonly wallMs: number }>();

  /** @param unheldMs how long an attack has not been held, whatever the rung. */
  constructor(unheldMs: (attack: Attack, wallMs: number) => number) {
    this.#unheldMs = unheldMs;
  }

  /** The longest of the attacks. */
  unheldMs({ id, step }: Pick<Ban, "id" | "step">, attacks: readonly Attack[], wallMs: number): number {
    const known = this.#since.get(id);
    if (known?.step !== step) {
      this.#since.set(id, { step, wallMs });
      return 0;
    }
    const ofAttacks = attacks.map((attack) => this.#unheldMs(attack, wallMs));
    return Math.min(Math.max(0, ...ofAttacks), Math.max(0, wallMs - known.wallMs));
  }

  forget(id: string): void {
    this.#since.delete(id);
  }
}
