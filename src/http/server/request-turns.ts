/**
 * Bounds the time that requests take in one turn of the event loop: they run one after the other, and those over the
 * bound in the next turns, so that timers and other sockets have their turn under any load of requests. Who calls is
 * found out first; then tenants take turns, and every other turn is the administrator's. What waits is bounded by the
 * connections, each of which has one request in progress.
 */
import { FairQueue, type Tenant } from "../../access/fair-queue.ts";
import type { Clock } from "../../system/clock.ts";

/** One request is never cut; what takes longer runs in slices of its own. */
export const REQUEST_TURN_MS = 2;

export interface TurnOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly nextTurn: () => Promise<void>;
  /** Runs `fn` in this turn, after all promises that are settled were followed. */
  readonly afterPromises: (fn: () => void) => void;
}

export class RequestTurns {
  readonly #options: TurnOptions;
  /** Their callers are not known yet. */
  #arrived: (() => void)[] = [];
  /** The first in `#arrived` that was not begun. */
  #first = 0;
  readonly #known = new FairQueue<() => void>();
  /** The end of the time of this turn; null: no request has run in it. */
  #endMs: number | null = null;
  /** Whether the next one is to be begun in this turn. */
  #isBeginning = false;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#arrived.length - this.#first + this.#known.size;
  }

  /**
   * Runs `work` of a request that has come, in this turn, or in a later one. Its time counts until it waits for
   * something outside.
   */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#arrived.push(() => void settled(work).then(resolve, reject));
      this.#continue();
    });
  }

  /** The same for what follows, once its caller is known. */
  runFor<T>(tenant: Tenant, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#known.push(tenant, () => void settled(work).then(resolve, reject));
      this.#continue();
    });
  }

  /** The library may hand over several requests before it follows the promises of the first. */
  #continue(): void {
    if (this.#isBeginning || this.waiting === 0) return;
    this.#isBeginning = true;
    this.#options.afterPromises(() => {
      this.#isBeginning = false;
      if (!this.#hasTime()) return;
      this.#begin();
      this.#continue();
    });
  }

  #hasTime(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#endMs !== null) return nowMs < this.#endMs;
    this.#endMs = nowMs + REQUEST_TURN_MS;
    void this.#options.nextTurn().then(() => {
      this.#endMs = null;
      this.#continue();
    });
    return true;
  }

  #begin(): void {
    const begin = this.#first < this.#arrived.length ? this.#arrived[this.#first++] : this.#known.shift();
    if (this.#first === this.#arrived.length) {
      this.#arrived = [];
      this.#first = 0;
    }
    begin?.();
  }
}

async function settled<T>(work: () => T | Promise<T>): Promise<T> {
  return work();
}
