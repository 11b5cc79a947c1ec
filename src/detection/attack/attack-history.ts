/**
 * Attacks beyond the life of the process: kept at their start, when they get a sample and at their end; the last ended ones
 * are taken up by the next start. Where they are kept is the storage's matter.
 */
import { ENDED_ATTACKS_KEPT } from "../../limits.ts";
import type { Attack } from "./attack.ts";
import type { AttackLog } from "./attack-log.ts";

export interface AttackKeeper {
  /** Returns at once. */
  saveAttack(attack: Attack, tenant: string | null): void;
  /** Newest first. Rejects when the storage fails, which it has told of then. */
  endedAttacks(limit: number): Promise<readonly Attack[]>;
}

export class AttackHistory {
  readonly #keeper: AttackKeeper;
  readonly #log: AttackLog;

  constructor(keeper: AttackKeeper, log: AttackLog) {
    this.#keeper = keeper;
    this.#log = log;
  }

  /** @param tenant of its hostgroup. */
  save(attack: Attack, tenant: string | null): void {
    this.#keeper.saveAttack(attack, tenant);
  }

  /** Puts what was kept into the log. Twice is fine, and never rejects. Returns how many were read. */
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
