/**
 * Keeps attacks over restarts: saves them at their start, when they get a sample and at their end, and restores the
 * last ended ones. The storage decides where.
 */
import { ENDED_ATTACKS_KEPT } from "../../limits.ts";
import type { Attack } from "./attack.ts";
import type { AttackLog } from "./attack-log.ts";

interface AttackKeeper {
  /** Returns at once. */
  saveAttack(attack: Attack, tenant: string | null): void;
  /** Newest first. Rejects when the storage fails, which logs the failure itself. */
  endedAttacks(limit: number): Promise<readonly Attack[]>;
}

export class AttackHistory {
  readonly #keeper: AttackKeeper;
  readonly #log: AttackLog;

  constructor(keeper: AttackKeeper, log: AttackLog) {
    this.#keeper = keeper;
    this.#log = log;
  }

  /** @param tenant the tenant of the hostgroup. */
  save(attack: Attack, tenant: string | null): void {
    this.#keeper.saveAttack(attack, tenant);
  }

  /** Restores the stored attacks into the log. May be called twice; never rejects. Returns how many were read. */
  async restore(): Promise<number> {
    try {
      const attacks = await this.#keeper.endedAttacks(ENDED_ATTACKS_KEPT);
      this.#log.restore(attacks);
      return attacks.length;
    } catch {
      return 0;
    }
  }
}
