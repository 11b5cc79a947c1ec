/** Refusals and replacements because a cap was reached, since the start of the service: for notifications. */
import { ACTIVE_ATTACKS_MAX, CARPETS_MAX } from "../limits.ts";
import { CAPS, type Cap } from "../mitigation/admission.ts";
import type { BanChange } from "../mitigation/ban.ts";
import type { CapReached } from "../notify/event.ts";
import { capReachedBy } from "./event-log.ts";

interface Counts {
  readonly refused: number;
  readonly replaced: number;
}

interface CapPolicy {
  readonly maxActiveBans: number;
  readonly maxBannedFraction: number;
}

interface AttackTables {
  readonly detector: Counts;
  readonly carpets: Counts;
}

export class CapReadings {
  readonly #bans = new Map<Cap, { refused: number; replaced: number }>(
    CAPS.map((cap) => [cap, { refused: 0, replaced: 0 }]),
  );

  banChanged(change: BanChange): void {
    const reached = capReachedBy(change);
    const counts = reached === null ? undefined : this.#bans.get(reached.cap);
    if (reached !== null && counts !== undefined) counts[reached.outcome]++;
  }

  /** @param tables null: nothing is detected. */
  read({ maxActiveBans, maxBannedFraction }: CapPolicy, tables: AttackTables | null): readonly CapReached[] {
    const caps = [
      { name: "max_active_bans", limit: maxActiveBans, counts: this.#bans.get("max_active_bans reached") },
      { name: "max_banned_fraction", limit: maxBannedFraction, counts: this.#bans.get("max_banned_fraction reached") },
      { name: "attacks", limit: ACTIVE_ATTACKS_MAX, counts: tables?.detector },
      { name: "carpets", limit: CARPETS_MAX, counts: tables?.carpets },
    ] as const;
    return caps.map(({ name, limit, counts }) => ({
      name,
      limit,
      refused: counts?.refused ?? 0,
      replaced: counts?.replaced ?? 0,
    }));
  }
}
