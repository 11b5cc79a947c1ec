/**
 * Finds attacks that look like a lasting rise of legitimate traffic: above the normal rate for hours, and never above a
 * configured threshold. Nothing is learned during an attack, so an operator must decide.
 */
import { type Attack, firstCrossed } from "../attack/attack.ts";
import type { Hostgroup } from "../hostgroup.ts";

/** The minimum duration of such an attack. */
export const LASTING_RISE_MS = 3 * 3_600_000;

export class BaselineRises {
  /**
   * By attack id: since when it has stayed within the configured thresholds, monotonic ms. Only attacks in progress.
   */
  #since = new Map<string, number>();

  /**
   * Call this about once a second with all attacks in progress. Returns the attacks whose `lastingRise` changes, with
   * the new value. Calm phases within an attack count too.
   */
  review(attacks: Iterable<Attack>, hostgroups: readonly Hostgroup[], monotonicMs: number): Attack[] {
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

/** Whether a rate is above the thresholds of the present configuration. */
function isOver({ rates, direction }: Attack, { thresholds, thresholdsOutgoing }: Hostgroup): boolean {
  const limits = direction === "incoming" ? thresholds : thresholdsOutgoing;
  return limits === null || firstCrossed(rates, limits) >= 0;
}
