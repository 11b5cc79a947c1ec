/**
 * Traffic history in one database of all brains: the holder of the lease writes it. The others keep the last intervals, and
 * write these when it is theirs; rows of the same host and time collapse.
 */
import type { Lease } from "../cluster/lease.ts";
import type { TrafficSnapshot } from "../traffic/traffic-history.ts";

/** More than a lease and the time until its end is known. */
export const KEPT_MS = 60_000;
/** Each has up to TRAFFIC_ROWS_MAX rows. */
const KEPT_MAX = 12;

interface TrafficTurnOptions {
  readonly lease: Lease;
  /** Resolves when it is stored, or lost. */
  readonly store: (snapshot: TrafficSnapshot) => Promise<unknown>;
  readonly monotonicMs: () => number;
}

export class TrafficTurn {
  readonly #options: TrafficTurnOptions;
  #kept: { readonly snapshot: TrafficSnapshot; readonly atMs: number }[] = [];

  constructor(options: TrafficTurnOptions) {
    this.#options = options;
  }

  /** Resolves when it is stored, lost, or left to another brain. */
  async take(snapshot: TrafficSnapshot): Promise<void> {
    const { lease, store, monotonicMs } = this.#options;
    const nowMs = monotonicMs();
    this.#kept = [...this.#kept, { snapshot, atMs: nowMs }]
      .filter(({ atMs }, i, all) => i === all.length - 1 || nowMs - atMs <= KEPT_MS)
      .slice(-KEPT_MAX);
    if (!lease.holds()) return;
    const due = this.#kept;
    this.#kept = [];
    await Promise.all(due.map((each) => store(each.snapshot)));
  }
}
