/**
 * Finds attacks that look like a lasting rise of legitimate traffic: above what was normal for hours, and never over a
 * threshold that the operator set. Nothing is learned in an attack, so what is normal cannot follow by itself: people decide.
 */
import type { Hostgroup } from "../../config/config.ts";
import { type Attack, firstCrossed } from "../attack/attack.ts";

/** How long an attack must have gone on like that. */
export const LASTING_RISE_MS = 3 * 3_600_000;

export class BaselineRises {
  /** By id, since when it has kept within the thresholds, monotonic ms: those in progress and no others. */
  #since = new Map<string, number>();

  /**
   * To be called about once a second, with all attacks in progress. Returns those of which `lastingRise` is to change, as
   * they are to be. What is calm for a while goes on being counted: the attack does.
   */
  look(attacks: Iterable<Attack>, hostgroups: readonly Hostgroup[], monotonicMs: number): Attack[] {
    const groups = new Map(hostgroups.map((group) => [group.name, group]));
    const since = new Map<string, number>();
    const changed: Attack[] = [];
    for (const attack of attacks) {
      if (attack.reason.thresholdSource !== "baseline") continue;
      const group = groups.get(attack.group);
      const began = group === undefined || isOver(attack, group) ? null : (this.#since.get(attack.id) ?? monotonicMs);
      if (began !== null) since.set(attack.id, began);
      const lastingRise = began !== null && monotonicMs - began >= LASTING_RISE_MS;
      if (lastingRise !== attack.lastingRise) changed.push({ ...attack, lastingRise });
    }
    this.#since = since;
    return changed;
  }
}

/** Over what the operator holds to be too much whatever was learned, as of the configuration of now. */
function isOver({ rates, direction }: Attack, { thresholds, thresholdsOutgoing }: Hostgroup): boolean {
  const limits = direction === "incoming" ? thresholds : thresholdsOutgoing;
  return limits === null || firstCrossed(rates, limits) >= 0;
}
