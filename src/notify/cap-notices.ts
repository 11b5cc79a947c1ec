/**
 * Decides when it is notified that a cap is reached: as soon as something was refused or replaced because of it, and
 * while that goes on, every ten minutes.
 */
import type { CapReached } from "./event.ts";

/** The shortest time between two notifications of one cap, ms. */
export const CAP_PAUSE_MS = 600_000;

interface Notice {
  readonly atMs: number;
  readonly reading: CapReached;
}

export class CapNotices {
  /** The last notification of each cap. */
  readonly #last = new Map<CapReached["name"], Notice>();

  /**
   * Returns the caps to notify, with what was refused and replaced since their last notification.
   * @param readings of all caps, with the numbers since the start of the service.
   */
  take(readings: readonly CapReached[], monotonicMs: number): readonly CapReached[] {
    return readings.flatMap((reading) => {
      const last = this.#last.get(reading.name);
      if (last !== undefined && monotonicMs - last.atMs < CAP_PAUSE_MS) return [];
      const refused = reading.refused - (last?.reading.refused ?? 0);
      const replaced = reading.replaced - (last?.reading.replaced ?? 0);
      if (refused === 0 && replaced === 0) return [];
      this.#last.set(reading.name, { atMs: monotonicMs, reading });
      return [{ ...reading, refused, replaced }];
    });
  }
}
